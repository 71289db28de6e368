import { z } from 'zod'

/** One file that differs from what the changes are compared with. */
export const FileChange = z.object({
  path: z.string(),
  /** Where it was before, if it was moved. */
  from: z.string().optional(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'untracked', 'conflicted']),
  added: z.int().optional().meta({ description: 'Lines; absent for binary files' }),
  removed: z.int().optional(),
  binary: z.boolean(),
  generated: z
    .boolean()
    .meta({ description: 'Made by a program: a lock file, a bundle, marked so in .gitattributes' }),
})
export type FileChange = z.infer<typeof FileChange>

/** What differs in a session's folder. */
export const Changes = z.object({
  base: z.string().meta({ description: 'The commit they are compared with; empty where there is none yet' }),
  branch: z.string().optional(),
  files: z.array(FileChange),
  cut: z.boolean().meta({ description: 'There are more than can be shown' }),
})
export type Changes = z.infer<typeof Changes>

/**
 * What a watch of the changes tells. `watching` comes first; where it is not `whole`, there is more than can be watched
 * and some news is missed. `changed` names files, or folders with all in them; without `paths`, anything may differ.
 */
export const ChangesNews = z.discriminatedUnion('type', [
  z.object({ type: z.literal('watching'), whole: z.boolean() }),
  z.object({ type: z.literal('changed'), paths: z.array(z.string()).readonly().optional() }),
])
export type ChangesNews = z.infer<typeof ChangesNews>
