import { ParleyError, type PullRequestInfo } from '@parley/protocol'
import type { CheckLogs, FolderChanges } from '../core/folder-changes.ts'
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
  const inTurn = createInTurn()
  const asking = createAsking<PullRequestInfo>()
  const askingLogs = createAsking<CheckLogs>()
  return {
    async discard(folder, asked) {
      const { discard } = await import('./discard.ts')
      return inTurn(folder, asked, async () => discard(await parts(), folder, asked))
    },
    async restore(folder, asked) {
      const { restoreDiscarded } = await import('./discard.ts')
      return inTurn(folder, asked, async () => restoreDiscarded(await parts(), folder, asked))
    },
    async stage(folder, asked) {
      const { stage } = await import('./stage.ts')
      await inTurn(folder, asked, async () => stage((await parts()).gitIn, folder, asked))
    },
    async commit(folder, asked) {
      const { commit } = await import('./commit.ts')
      return inTurn(folder, asked, async () => commit((await parts()).gitIn, folder, asked))
    },
    async push(folder, asked) {
      const { push } = await import('./push.ts')
      return inTurn(folder, asked, async () => push((await parts()).gitIn, folder, asked))
    },
    async branch(folder, { trusts, ...choice }) {
      const [{ branchInfo }, { folderGit }] = await Promise.all([
        import('./branch.ts'),
        import('./folder-git.ts'),
      ])
      return branchInfo(await folderGit((await parts()).gitIn, folder, trusts), choice)
    },
    async previewMerge(folder, asked) {
      const { previewMerge } = await import('./merge.ts')
      return previewMerge((await parts()).gitIn, folder, asked)
    },
    async merge(folder, asked) {
      const { merge } = await import('./merge.ts')
      return inTurn(folder, asked, async () => merge((await parts()).gitIn, folder, asked))
    },
    async fillSubmodules(folder, asked) {
      const { fillSubmodules } = await import('./submodules.ts')
      // Cloning can take long, and does not change what the other commands read.
      const when = { signal: asked.signal, kind: 'fill' }
      return inTurn(folder, when, async () => fillSubmodules((await parts()).gitIn, folder, asked))
    },
    async openPullRequest(folder, asked) {
      const { openPullRequest } = await import('./pull-request.ts')
      const opening = inTurn(folder, asked, async () => openPullRequest((await parts()).gitIn, folder, asked))
      return opening.finally(() => asking.forget(folder))
    },
    checkLogs: (folder, asked) =>
      askingLogs.ask(folder, async () => {
        const { checkLogs } = await import('./pull-request.ts')
        return checkLogs((await parts()).gitIn, folder, asked)
      }),
    pullRequest: (folder, asked) =>
      asking.ask(folder, async () => {
        const { pullRequestInfo } = await import('./pull-request.ts')
        return pullRequestInfo((await parts()).gitIn, folder, asked)
      }),
  }
}

/**
 * Commands in the same repository run one after the other. A command that is cancelled while it waits does not begin.
 * Commands of another `kind` do not wait for each other.
 */
function createInTurn() {
  const turns = createTurns()
  return async <Result>(
    folder: string,
    { signal, kind = '' }: { readonly signal: AbortSignal; readonly kind?: string },
    work: () => Promise<Result>,
  ): Promise<Result> => {
    const repository = (await findRepository(folder))?.commonDir ?? folder
    const { promise: ended, reject } = Promise.withResolvers<never>()
    let hasBegun = false
    const end = () => hasBegun || reject(cancelled())
    signal.addEventListener('abort', end, { once: true })
    const result = turns(JSON.stringify([repository, kind]), async () => {
      if (signal.aborted) throw cancelled()
      hasBegun = true
      return work()
    })
    return Promise.race([result, ended]).finally(() => signal.removeEventListener('abort', end))
  }
}

const cancelled = () => new ParleyError('cancelled', 'The command was cancelled before it began.')

/** The time for which an answer of a remote is reused, in milliseconds. */
const freshMs = 10_000
const maxKept = 200

/** Sends one request at a time for each folder, and reuses the answer for `freshMs`. */
function createAsking<Answer>() {
  const kept = new Map<string, { readonly at: number; readonly answer: Promise<Answer> }>()
  return {
    forget: (folder: string) => void kept.delete(folder),
    async ask(folder: string, ask: () => Promise<Answer>): Promise<Answer> {
      const known = kept.get(folder)
      if (known && performance.now() - known.at < freshMs) return known.answer
      if (kept.size >= maxKept) kept.clear()
      const answer = ask()
      kept.set(folder, { at: performance.now(), answer })
      answer.catch(() => kept.delete(folder))
      return answer
    },
  }
}
