import { z } from 'zod'

/** Fields of the events that record changes of files, commits and pushes in a session's folder. */

export const DiscardedFile = z.object({
  path: z.string(),
  from: z.string().optional().meta({ description: 'The previous path of a renamed file' }),
  hunks: z.int().optional().meta({ description: 'The number of discarded hunks. Absent: the whole file' }),
})
export type DiscardedFile = z.infer<typeof DiscardedFile>

export const Discarded = z.object({
  files: z.array(DiscardedFile),
  base: z.string().meta({
    description: 'The commit or the tree that the files were compared with; empty without a commit',
  }),
  before: z.string().meta({ description: 'The snapshot before the discard' }),
  after: z.string().meta({ description: 'The snapshot after the discard' }),
  staged: z
    .array(z.object({ path: z.string(), mode: z.string(), blob: z.string() }))
    .optional()
    .meta({ description: 'The staged content of these files, which the discard has unstaged' }),
})
export type Discarded = z.infer<typeof Discarded>

export const Committed = z.object({
  commit: z.string(),
  branch: z.string().optional().meta({ description: 'Absent: no branch was checked out' }),
  message: z.string(),
  files: z.int().meta({ description: 'The number of files in the commit' }),
  output: z.string().optional().meta({ description: 'The end of the output of the hooks' }),
})
export type Committed = z.infer<typeof Committed>

export const Pushed = z.object({
  branch: z.string(),
  remote: z.string(),
  url: z.string().optional().meta({ description: 'The address of the remote, without credentials' }),
  commit: z.string(),
  replaced: z
    .string()
    .optional()
    .meta({ description: 'The commit of the remote branch that a forced push replaced' }),
  output: z.string().optional().meta({ description: 'The end of the messages of the remote and the hooks' }),
})
export type Pushed = z.infer<typeof Pushed>

export const Merged = z.object({
  branch: z.string().meta({ description: 'The branch that was merged' }),
  merged: z.string().meta({ description: 'The commit of the branch that was merged' }),
  into: z.string().meta({ description: 'The base branch' }),
  before: z.string().meta({ description: 'The commit of the base branch before the merge' }),
  commit: z.string().meta({ description: 'The commit of the base branch after the merge' }),
  way: z.enum(['fast-forward', 'merge', 'squash']),
  commits: z.int().meta({ description: 'The number of commits that were merged' }),
  files: z.int().meta({ description: 'The number of files that the merge changed' }),
  message: z.string().optional().meta({ description: 'Absent: no commit was made' }),
  folder: z.string().optional().meta({
    description: 'The folder in which the base branch is checked out, whose files were changed',
  }),
})
export type Merged = z.infer<typeof Merged>

export const OpenedPullRequest = z.object({
  url: z.string(),
  number: z.int().optional(),
  title: z.string(),
  branch: z.string(),
  base: z.string(),
  draft: z.literal(true).optional(),
})
export type OpenedPullRequest = z.infer<typeof OpenedPullRequest>
