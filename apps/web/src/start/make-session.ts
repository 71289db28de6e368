import type { ExpectedSession, PromptPart } from '@parley/protocol'
import { client } from '../base/client.ts'
import type { Route } from '../base/route.logic.ts'

/** The worktree of the new session. An empty base is the commit that is checked out. */
export type ChosenWorktree = { readonly base?: string; readonly copy: readonly string[] }

export type Asked = {
  readonly session: ExpectedSession
  readonly trust: boolean
  readonly worktree: ChosenWorktree | undefined
  readonly prompt: PromptPart[]
}

/** The page of the new session or round, and the folder for the next session. */
export type Made = { readonly route: Route; readonly cwd: string }

export async function makeSession({ session, trust, worktree, prompt }: Asked): Promise<Made> {
  const { id, cwd } = await client.createSession({
    ...session,
    ...(trust && { trust }),
    ...(worktree && { worktree: requested(worktree) }),
    ...(prompt.length > 0 && { prompt }),
  })
  return { route: { name: 'session', id }, cwd: worktree ? session.cwd : cwd }
}

export function requested({ base, copy }: ChosenWorktree) {
  return { ...(base && { base }), copy: [...copy] }
}
