import { z } from 'zod'
import { LeftOut } from './snapshot.ts'
import { taggedUnion } from './tagged-union.ts'
import { BlobHash } from './viewed.ts'

/** One file that differs from the base of the comparison. */
export const FileChange = z.object({
  path: z.string(),
  /** The previous path of a moved file. */
  from: z.string().optional(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'untracked', 'conflicted']),
  added: z.int().optional().meta({ description: 'Number of added lines; absent for binary files' }),
  removed: z.int().optional(),
  binary: z.boolean(),
  generated: z.boolean().meta({
    description: 'A generated file: a lock file, a bundle, or a file marked as generated in .gitattributes',
  }),
  blob: BlobHash.optional().meta({
    description:
      'The content of the file after the change, byte for byte (for what is staged, as git stores it), as git names it; zeros if the file was deleted. Absent if it is not known: the file is too large or cannot be read',
  }),
  staged: z.enum(['all', 'part']).optional().meta({
    description: 'Whether all or part of the change is staged; only in lists that compare with HEAD',
  }),
})
export type FileChange = z.infer<typeof FileChange>

/**
 * The base of the comparison: `turn`, the folder before a turn; `session`, the folder before the first turn;
 * `commit`, HEAD; `base`, the commit where the branch left the base branch of the repository.
 */
export const ChangeScope = z.enum(['turn', 'session', 'commit', 'base'])
export type ChangeScope = z.infer<typeof ChangeScope>

/** The part of the changes since HEAD. `staged`: from HEAD to the index. `unstaged`: from the index to the folder. */
export const ChangeSide = z.enum(['staged', 'unstaged'])
export type ChangeSide = z.infer<typeof ChangeSide>

export const ComparedSide = z.object({
  commit: z.string().optional().meta({ description: 'A commit' }),
  tree: z.string().optional().meta({ description: 'A snapshot' }),
  at: z.number().optional().meta({ description: 'When the snapshot was taken' }),
  now: z.literal(true).optional().meta({ description: 'The folder as it is now' }),
})
export type ComparedSide = z.infer<typeof ComparedSide>

/** The comparison that a list of changes shows. */
export const Compared = z.object({
  scope: ChangeScope,
  turnId: z.string().optional(),
  branch: z.string().optional().meta({ description: 'For the scope `base`: the base branch' }),
  from: ComparedSide,
  to: ComparedSide,
  shared: z.literal(true).optional().meta({
    description: 'Another session worked in the folder meanwhile, and may have made some of the changes',
  }),
  marked: z.enum(['late', 'missing']).optional().meta({
    description:
      '`late`: a snapshot was complete only after a tool call that can write files had begun. `missing`: there is no snapshot to compare with, and `files` is empty, or another moment is compared instead',
  }),
  leftOut: z.array(LeftOut).optional().meta({ description: 'Paths that the snapshots do not contain' }),
})
export type Compared = z.infer<typeof Compared>

export const Changes = z.object({
  base: z.string().meta({
    description:
      'The commit or the tree that the folder is compared with; empty if the repository has no commit',
  }),
  branch: z.string().optional(),
  files: z.array(FileChange),
  cut: z.boolean().meta({ description: 'True if the list is truncated' }),
  compared: Compared.optional().meta({ description: 'Present if the query has a scope' }),
})
export type Changes = z.infer<typeof Changes>

/**
 * The messages of a watch on a folder. `watching` comes first; if its `whole` is false, the folder is too large to be
 * watched completely and some changes are not reported. `changed` names files, or folders with everything in them;
 * without `paths`, anything may have changed.
 */
export const ChangesNews = taggedUnion('type', [
  z.object({ type: z.literal('watching'), whole: z.boolean() }),
  z.object({ type: z.literal('changed'), paths: z.array(z.string()).readonly().optional() }),
])
export type ChangesNews = z.infer<typeof ChangesNews>
