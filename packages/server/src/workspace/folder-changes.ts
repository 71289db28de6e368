import { ParleyError } from '@parley/protocol'
import type { FolderChanges } from '../core/folder-changes.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'

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
  const later = async (): Promise<never> => {
    throw new ParleyError('not_supported', 'This is not available in this version.')
  }
  return {
    async discard(folder, asked) {
      const { discard } = await import('./discard.ts')
      return discard(await parts(), folder, asked)
    },
    async restore(folder, asked) {
      const { restoreDiscarded } = await import('./discard.ts')
      return restoreDiscarded(await parts(), folder, asked)
    },
    stage: later,
    commit: later,
    push: later,
    openPullRequest: later,
  }
}
