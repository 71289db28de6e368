import { z } from 'zod'
import { LeftOut } from './snapshot.ts'

/** The id of a git tree that a snapshot stored. */
const Tree = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'the id of a tree')

/**
 * The reason why a restoration leaves a path alone. A command that names the path overrules the first two reasons.
 */
export const LeftReason = z.enum([
  'changed-since',
  'unclear',
  'in-the-way',
  'not-stored',
  'repository',
  'failed',
])
export type LeftReason = z.infer<typeof LeftReason>

const leftReasons =
  '`changed-since`: somebody else changed the file after a turn. `unclear`: it is not known whether a turn or somebody else changed the file. `in-the-way`: a file that no snapshot contains would be overwritten. `not-stored`: the content is not stored any more. `repository`: the path is in a submodule or another repository. `failed`: the file could not be written'

/** A path that a restoration left alone. */
export const LeftPath = z.object({ path: z.string(), reason: LeftReason.meta({ description: leftReasons }) })
export type LeftPath = z.infer<typeof LeftPath>

/** The largest number of paths that an event names. */
export const maxLeftPaths = 20

/** The paths that a restoration left alone: the first ones, and their number. */
export const LeftPaths = z.object({ count: z.int().min(1), paths: z.array(LeftPath) })
export type LeftPaths = z.infer<typeof LeftPaths>

/** Adds paths that were left alone. Undefined if there are none. */
export function leftPaths(paths: readonly LeftPath[], before?: LeftPaths): LeftPaths | undefined {
  const count = paths.length + (before?.count ?? 0)
  const all = [...(before?.paths ?? []), ...paths]
  return count === 0 ? undefined : { count, paths: all.slice(0, maxLeftPaths) }
}

/** The files that a restoration changed: exactly the paths in which two trees differ. */
export const RestoredFiles = z.object({
  before: Tree.meta({ description: 'The tree with the restored paths as they were before' }),
  after: Tree.meta({ description: 'The tree after the restoration' }),
  count: z.int().min(0).meta({ description: 'The number of restored paths' }),
  left: LeftPaths.optional(),
})
export type RestoredFiles = z.infer<typeof RestoredFiles>

export const RewindFile = z.object({
  path: z.string().meta({ description: 'Relative to the folder of the session' }),
  action: z
    .enum(['change', 'create', 'delete'])
    .meta({ description: 'The effect of the rewind on the file' }),
  left: LeftReason.optional().meta({ description: `Why the path is left alone. ${leftReasons}` }),
})
export type RewindFile = z.infer<typeof RewindFile>

/** The largest number of files that a preview lists. */
export const maxPreviewFiles = 2_000

export const RewindPreview = z.object({
  seen: Tree.meta({
    description:
      'The folder as it was compared. With `seen`, session.rewind leaves files alone that changed since',
  }),
  files: z.array(RewindFile).meta({
    description: 'The files that turns since the prompt changed, and that differ from their state before it',
  }),
  cut: z.boolean().meta({ description: `True if there are more than ${maxPreviewFiles} files` }),
  late: z.literal(true).optional().meta({
    description:
      'A tool call that can write files had begun before the snapshot was complete: the snapshot may contain changes of the turn',
  }),
  leftOut: z.array(LeftOut).meta({ description: 'Paths that no snapshot contains; they cannot be restored' }),
  inUse: z.literal(true).optional().meta({
    description: 'Another session has a turn open in this folder: a rewind would be refused now',
  }),
  commits: z.literal(true).optional().meta({
    description: 'Another commit was checked out before the prompt. A rewind does not move HEAD',
  }),
})
export type RewindPreview = z.infer<typeof RewindPreview>

/** Parameters of session.rewind that concern files. */
export const RewindFiles = {
  paths: z.array(z.string().min(1).max(4096)).max(20_000).optional().meta({
    description:
      'The only files to restore, relative to the folder, even if others changed them since. Absent: all files that only turns changed',
  }),
  seen: Tree.optional().meta({
    description: '`seen` of the preview: files that changed since then are left alone',
  }),
}
