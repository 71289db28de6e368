import { validationError } from '@parley/protocol'

type ParseError = Parameters<typeof validationError>[1]
type Schema<T> = {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: ParseError }
}

/**
 * The value as parsed by the schema. If it does not fit, throws ParleyError `validation_error` with a message that
 * starts with `what`.
 */
export function checked<T>(schema: Schema<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw validationError(what, result.error)
}
