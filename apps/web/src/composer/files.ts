import { client } from '../page/client.ts'

/** Files whose path fits, the best first. None where they cannot be had: it is only a help. */
export type FindFiles = (query: string, signal: AbortSignal) => Promise<readonly string[]>

const limit = 30

export function filesOfSession(id: string): FindFiles {
  return (q, signal) => found(client.call('findFiles', { params: { id }, query: { q, limit }, signal }))
}

/** Of a folder that no session may know yet. */
export function filesIn(cwd: string): FindFiles {
  return (q, signal) => found(client.call('findFilesIn', { query: { cwd, q, limit }, signal }))
}

async function found(reply: Promise<{ files: readonly string[] }>): Promise<readonly string[]> {
  try {
    return (await reply).files
  } catch {
    return []
  }
}
