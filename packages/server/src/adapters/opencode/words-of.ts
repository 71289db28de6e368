import { isRecord } from '@parley/protocol'

/** The message of an error, thrown or returned by OpenCode. */
export function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (!isRecord(error)) return String(error)
  const { message } = isRecord(error.data) ? error.data : error
  return typeof message === 'string' ? message : JSON.stringify(error)
}
