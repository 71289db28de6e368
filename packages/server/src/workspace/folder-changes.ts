import { ParleyError } from '@parley/protocol'
import type { FolderChanges } from '../core/folder-changes.ts'
import { findRepository } from './repository.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'
import { createTurns } from './turns.ts'

export type FolderChangesOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly folders: ShadowedFolders
}

/** The code is loaded on first use, because a server does not need it at its start. */
export function createFolderChanges({ env, folders }: FolderChangesOptions): FolderChanges {
  const git = async () => (await import('./git.ts')).createGitIn(env)
  let loading: ReturnType<typeof git> | undefined
  const parts = async () => {
    loading ??= git()
    return { gitIn: await loading, folders }
  }
  const turns = createTurns()
  /** One command after the other works in a repository. */
  const inTurn = async <Result>(folder: string, work: () => Promise<Result>) =>
    turns((await findRepository(folder))?.commonDir ?? folder, work)
  const later = async (): Promise<never> => {
    throw new ParleyError('not_supported', 'This is not available in this version.')
  }
  return {
    async discard(folder, asked) {
      const { discard } = await import('./discard.ts')
      return inTurn(folder, async () => discard(await parts(), folder, asked))
    },
    async restore(folder, asked) {
      const { restoreDiscarded } = await import('./discard.ts')
      return inTurn(folder, async () => restoreDiscarded(await parts(), folder, asked))
    },
    async stage(folder, asked) {
      const { stage } = await import('./stage.ts')
      await inTurn(folder, async () => stage((await parts()).gitIn, folder, asked))
    },
    async commit(folder, asked) {
      const { commit } = await import('./commit.ts')
      return inTurn(folder, async () => commit((await parts()).gitIn, folder, asked))
    },
    push: later,
    openPullRequest: later,
  }
}
