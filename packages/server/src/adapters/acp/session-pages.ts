import type { ClientContext } from '@agentclientprotocol/sdk/unstable'

/** A conversation as an agent lists it. */
export type ListedSession = {
  readonly sessionId: string
  readonly cwd: string
  readonly title?: string | null
  readonly updatedAt?: string | null
}

/** More pages than any agent has: the limit ends a listing that never does. */
const mostPages = 200

/** All conversations that the agent lists, or those of one folder. */
export async function* sessionPages(
  wire: ClientContext,
  query: { readonly cwd?: string },
): AsyncGenerator<ListedSession> {
  let cursor: string | null | undefined
  for (let page = 0; page < mostPages; page++) {
    const { sessions, nextCursor } = await wire.request('session/list', {
      ...query,
      ...(cursor && { cursor }),
    })
    yield* sessions
    if (!nextCursor) return
    cursor = nextCursor
  }
}
