import { createHash } from 'node:crypto'

/** A hash of a JSON value that does not depend on the order of its keys. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url')
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** A session id that follows from a value: the same value gives the same session. */
export function sessionIdFrom(value: unknown): string {
  const bytes = createHash('sha256').update(canonical(value)).digest().subarray(0, 25)
  return `ses_${Array.from(bytes, (byte) => alphabet[byte % 32]).join('')}`
}

class Sign {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Not recursive: what an agent sends may be nested deeper than the stack is. */
function canonical(value: unknown): string {
  let written = ''
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const next = rest.pop()
    if (next instanceof Sign) written += next.text
    else if (Array.isArray(next)) {
      putBefore(
        rest,
        '[]',
        next.map((item) => ['', item]),
      )
    } else if (next !== null && typeof next === 'object') {
      const entries = Object.entries(next).filter(([, field]) => field !== undefined)
      entries.sort(([a], [b]) => (a < b ? -1 : 1))
      putBefore(
        rest,
        '{}',
        entries.map(([key, field]) => [`${JSON.stringify(key)}:`, field]),
      )
    } else written += JSON.stringify(next) ?? 'null'
  }
  return written
}

/** The last first, since what comes next is taken from the end. */
function putBefore(rest: unknown[], [open, close]: string, fields: [before: string, value: unknown][]): void {
  rest.push(new Sign(close ?? ''))
  for (let index = fields.length - 1; index >= 0; index--) {
    const [before, value] = fields[index]!
    rest.push(value, new Sign((index > 0 ? ',' : '') + before))
  }
  rest.push(new Sign(open ?? ''))
}
