import { isRecord } from './describe-tool.ts'

/** What an error says: one that was thrown, or one that OpenCode gave as an answer. */
export function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (!isRecord(error)) return String(error)
  const { message } = isRecord(error.data) ? error.data : error
  return typeof message === 'string' ? message : JSON.stringify(error)
}
