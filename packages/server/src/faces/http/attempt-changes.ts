import { type Attempt, type AttemptChanges, type Changes, ParleyError, type Round } from '@parley/protocol'
import type { AttemptFiles, Host } from '../../core/index.ts'
import type { Comparison, Workspace } from '../../workspace/index.ts'
import type { OtherNodes } from '../other-nodes.ts'

/** Compares the files of attempts. The caller's host decides which attempts the caller may see. */

type Parts = {
  readonly host: Host
  readonly workspace: Workspace
  /** Absent for a request from another node. */
  readonly otherNodes?: OtherNodes | undefined
}

type Asked = { readonly id: string; readonly to: number; readonly from?: number | undefined }

/** Adds the size of its changes to each attempt, if the size is known. */
export async function withChanges({ host, workspace, otherNodes }: Parts, round: Round): Promise<Round> {
  const all = await host.attemptFiles(round.id)
  const attempts = await Promise.all(
    round.attempts.map(async (attempt): Promise<Attempt> => {
      const files = all.find((one) => one.attempt === attempt.attempt)
      if (!files?.first) return attempt
      const query = { to: String(attempt.attempt) }
      const changes = await changesOf(files, {
        here: () => changesHere(workspace, files),
        there: () => otherNodes?.ask(files.sessionId, 'compareAttempts', { params: { id: round.id }, query }),
      }).catch(() => undefined)
      return changes ? { ...attempt, changes: sizeOf(changes, files) } : attempt
    }),
  )
  return { ...round, attempts }
}

export async function compareAttempts(parts: Parts, { id, to, from }: Asked): Promise<Changes> {
  const { workspace, otherNodes } = parts
  const [files, other] = await comparedOf(parts, { id, to, from })
  return changesOf(files, {
    here: () => changesHere(workspace, files, other),
    there: () => otherNodes?.ask(files.sessionId, 'compareAttempts', { params: { id }, query: { to, from } }),
  })
}

export async function patchOfAttempt(
  parts: Parts,
  { id, to, from, path }: Asked & { readonly path: string },
): Promise<{ patch: string; cut: boolean }> {
  const { workspace, otherNodes } = parts
  const [files, other] = await comparedOf(parts, { id, to, from })
  return changesOf(files, {
    async here() {
      const comparison = await comparisonOf(workspace, files, other)
      if (!comparison) return { patch: '', cut: false }
      return workspace.patch(files.folder, path, comparison)
    },
    there: () =>
      otherNodes?.ask(files.sessionId, 'getAttemptPatch', { params: { id }, query: { to, from, path } }),
  })
}

/** The attempt whose changes are asked for, and the one with which it is compared. */
async function comparedOf(
  { host }: Parts,
  { id, to, from }: Asked,
): Promise<[AttemptFiles, AttemptFiles | undefined]> {
  const all = await host.attemptFiles(id)
  const named = (number: number) => {
    const found = all.find(({ attempt }) => attempt === number)
    if (found) return found
    throw new ParleyError('not_found', `There is no attempt ${number} in this round.`)
  }
  return [named(to), from === undefined ? undefined : named(from)]
}

/** Asks the node that has the snapshots, or finds the answer on this machine. */
async function changesOf<Answer>(
  { isHere }: AttemptFiles,
  { here, there }: { here: () => Promise<Answer>; there: () => Promise<Answer | undefined> | undefined },
): Promise<Answer> {
  const answer = await there()
  if (answer !== undefined) return answer
  if (isHere) return here()
  throw new ParleyError('busy', 'The folder of this attempt is on another machine, where no server runs.')
}

async function changesHere(
  workspace: Workspace,
  files: AttemptFiles,
  other?: AttemptFiles,
): Promise<Changes> {
  const comparison = await comparisonOf(workspace, files, other)
  if (!comparison) return { base: '', files: [], cut: false }
  const { leftOut, baseBranch, ...changes } = await workspace.changes(files.folder, comparison)
  return changes
}

/** The comparison with the other attempt, or with the files before the first turn. Undefined if the attempt has not begun. */
async function comparisonOf(
  workspace: Workspace,
  { first, last }: AttemptFiles,
  other: AttemptFiles | undefined,
): Promise<Exclude<Comparison, string> | undefined> {
  const from = other ? await treeOf(workspace, other) : first?.tree
  if (from === undefined || !first) return undefined
  return { with: 'snapshot', from, ...(last && { to: last.tree }) }
}

/** The files of an attempt as they are now, or were before its worktree was removed. */
async function treeOf(
  workspace: Workspace,
  { first, last, folder }: AttemptFiles,
): Promise<string | undefined> {
  if (!first) return undefined
  return last?.tree ?? workspace.treeNow(folder)
}

function sizeOf({ files, cut }: Changes, { first }: AttemptFiles): AttemptChanges {
  const sum = (count: 'added' | 'removed') => files.reduce((total, file) => total + (file[count] ?? 0), 0)
  const generated = files.filter((file) => file.generated).length
  return {
    ...{ files: files.length, added: sum('added'), removed: sum('removed') },
    ...(cut && { cut: true }),
    ...(generated > 0 && { generated }),
    ...(first?.late && { late: true }),
  }
}
