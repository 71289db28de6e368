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

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).filter(([, field]) => field !== undefined)
    entries.sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}
