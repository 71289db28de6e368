import { createHash } from 'node:crypto'

/** A hash of a JSON value that does not depend on the order of its keys. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url')
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** A session id derived from a value: the same value gives the same session. */
export function sessionIdFrom(value: unknown): string {
  const bytes = createHash('sha256').update(canonical(value)).digest().subarray(0, 25)
  return `ses_${Array.from(bytes, (byte) => alphabet[byte % 32]).join('')}`
}

/** A piece of text that is written unchanged; `ends` is the array or object that it closes. */
class Sign {
  readonly text: string
  readonly ends: object | undefined
  constructor(text: string, ends?: object) {
    this.text = text
    this.ends = ends
  }
}

/**
 * A JSON value as text, with sorted keys. Not recursive: a value that an agent sends may be nested deeper than the
 * stack allows. Throws for a value that contains itself.
 */
export function canonical(value: unknown): string {
  let written = ''
  const rest: unknown[] = [value]
  const around = new Set<object>()
  while (rest.length > 0) {
    const next = rest.pop()
    if (next instanceof Sign) {
      written += next.text
      if (next.ends) around.delete(next.ends)
    } else if (next === null || typeof next !== 'object') written += JSON.stringify(next) ?? 'null'
    else {
      if (around.has(next)) throw new TypeError('a value that contains itself')
      around.add(next)
      putBefore(rest, next)
    }
  }
  return written
}

/** Pushes the pieces of `list` in reverse order, because the next piece is taken from the end. */
function putBefore(rest: unknown[], list: object): void {
  const [open, close] = Array.isArray(list) ? '[]' : '{}'
  const fields = Array.isArray(list) ? list.map((item): Field => ['', item]) : fieldsOf(list)
  rest.push(new Sign(close ?? '', list))
  for (let index = fields.length - 1; index >= 0; index--) {
    const [before, value] = fields[index]!
    rest.push(value, new Sign((index > 0 ? ',' : '') + before))
  }
  rest.push(new Sign(open ?? ''))
}

type Field = [before: string, value: unknown]

function fieldsOf(value: object): Field[] {
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => [`${JSON.stringify(key)}:`, field])
}
