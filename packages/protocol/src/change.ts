import { z } from 'zod'
import { taggedUnion } from './tagged-union.ts'

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
})
export type FileChange = z.infer<typeof FileChange>

export const Changes = z.object({
  base: z.string().meta({
    description: 'The commit that the folder is compared with; empty if the repository has no commit',
  }),
  branch: z.string().optional(),
  files: z.array(FileChange),
  cut: z.boolean().meta({ description: 'True if the list is truncated' }),
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
