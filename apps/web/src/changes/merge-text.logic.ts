import type { CommandInput, MergePreview, MergeWay } from '@parley/protocol'
import { plural, visible } from '../base/format.logic.ts'

/** The commits, the base branch and the folder of the merge, in one or two sentences. */
export function mergeText({
  branch,
  into,
  commitCount,
  fastForward,
  refused,
  conflicts,
}: MergePreview): string {
  if (branch === undefined || !into || commitCount === 0) return ''
  const what = `${plural(commitCount, 'commit')} of ${visible(branch)} into ${visible(into.branch)}`
  if (conflicts.length > 0) return `${what}: there are conflicts.`
  const where =
    into.folder === undefined
      ? `${visible(into.branch)} is not checked out, so only the branch moves.`
      : `The files in ${visible(into.folder)} change too.`
  return `${what}${fastForward && !refused ? ', which has no newer commits' : ''}. ${where}`
}

const shown = 12

/** The first paths, and the number of further paths. */
export function shownPaths(paths: readonly string[], total: number): string[] {
  const named = paths.slice(0, shown).map(visible)
  return total > named.length ? [...named, `and ${total - named.length} more`] : named
}

type Merge = Omit<Extract<CommandInput, { type: 'branch.merge' }>, 'commandId'>

/** The command for the merge of the preview. Undefined if the merge is refused. */
export function sentMerge(
  { refused, branch, commit, into }: MergePreview,
  { way, message }: { way: MergeWay; message: string },
): Merge | undefined {
  if (refused || branch === undefined || commit === undefined || !into) return undefined
  return {
    ...{ type: 'branch.merge', branch, commit, into: into.branch, onto: into.commit },
    ...(into.folder !== undefined && { folder: into.folder }),
    ...(way === 'squash' && { way }),
    ...(message.trim() !== '' && { message }),
  }
}
