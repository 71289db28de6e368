import { client } from '../base/client.ts'

/** Returns the files whose path matches, the best match first; none if the files cannot be read. */
export type FindFiles = (query: string, signal: AbortSignal) => Promise<readonly string[]>

const limit = 30

export function filesOfSession(id: string): FindFiles {
  return (q, signal) => found(client.call('findFiles', { params: { id }, query: { q, limit }, signal }))
}

/** Finds files in a folder that may belong to no session yet. */
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
