import { client } from '../page/client.ts'

/** Files of the session's folder whose path fits, the best first. None where they cannot be had: it is only a help. */
export async function filesLike(
  sessionId: string,
  query: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  try {
    const { files } = await client.call('findFiles', {
      params: { id: sessionId },
      query: { q: query, limit: 30 },
      signal,
    })
    return files
  } catch {
    return []
  }
}
