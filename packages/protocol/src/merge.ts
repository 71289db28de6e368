import { z } from 'zod'
import { FileChange } from './change.ts'
import { ErrorInfo } from './error.ts'
import { onOneLine, withoutHidden } from './hidden-characters.ts'

/** `merge`: a fast-forward if that is possible, otherwise a merge commit. `squash`: one commit with all changes. */
export const MergeWay = z.enum(['merge', 'squash'])
export type MergeWay = z.infer<typeof MergeWay>

/** The effect of a merge of the checked-out branch into the base branch. A preview changes nothing. */
export const MergePreview = z.object({
  refused: ErrorInfo.optional().meta({
    description: 'Why the branch cannot be merged now. Fields that are not known are then empty',
  }),
  branch: z.string().optional().meta({ description: 'The branch that is checked out' }),
  commit: z.string().optional().meta({ description: 'The last commit of the branch' }),
  into: z
    .object({
      branch: z.string(),
      commit: z.string(),
      folder: z.string().optional().meta({
        description:
          'The folder in which the base branch is checked out: the files there change too. Absent: nowhere',
      }),
    })
    .optional()
    .meta({ description: 'The base branch' }),
  fastForward: z.boolean().meta({ description: 'The base branch has no commit that the branch lacks' }),
  commits: z
    .array(z.object({ commit: z.string(), subject: z.string() }))
    .meta({ description: 'The commits to merge, the latest first, at most 100' }),
  commitCount: z.int(),
  files: z.array(FileChange).meta({ description: 'The files that change, at most 2,000' }),
  filesCut: z.literal(true).optional().meta({ description: 'More files change than are listed' }),
  conflicts: z
    .array(z.string())
    .meta({ description: 'Files that both branches have changed, and that git cannot merge, at most 200' }),
  blocked: z.array(z.string()).meta({
    description:
      'Files in `into.folder` that the merge would overwrite, although they are not committed; at most 200',
  }),
  uncommitted: z.array(z.string()).meta({
    description: "Changed files in the session's folder, which are not merged, at most 200",
  }),
  uncommittedCount: z.int(),
})
export type MergePreview = z.infer<typeof MergePreview>

export function squashMessage(title: string, commits: MergePreview['commits']): string {
  const subjects = commits.map(({ subject }) => onOneLine(subject))
  const [only, ...others] = subjects
  if (only !== undefined && others.length === 0) return only
  const first = withoutHidden(title).trim().split('\n', 1)[0]
  const subject = first?.slice(0, 72) || only || 'Squash'
  return [subject, '', ...subjects.toReversed().map((one) => `* ${one}`)].join('\n')
}

/**
 * A draft of a prompt that asks the agent to resolve the conflicts in its own branch. It is sent only by a person. The names of
 * files and branches, which a stranger may have chosen, cannot begin a line of the prompt.
 */
export function mergeRequestText(into: string, conflicts: readonly string[]): string {
  const named = conflicts.slice(0, 50).map((path) => `- ${onOneLine(path)}`)
  const more = conflicts.length > named.length ? [`- and ${conflicts.length - named.length} more`] : []
  return [
    `Merge the branch ${onOneLine(into)} into the branch that is checked out here, resolve the conflicts, and commit the merge.`,
    'The conflicts are in these files:',
    ...named,
    ...more,
  ].join('\n')
}
