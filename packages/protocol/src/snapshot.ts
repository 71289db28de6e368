import { z } from 'zod'

/** The occasion of a snapshot: before a turn, after a turn, or on request. */
export const SnapshotWhen = z.enum(['before', 'after', 'asked'])
export type SnapshotWhen = z.infer<typeof SnapshotWhen>

/** A path of the folder that a snapshot does not contain. */
export const LeftOut = z.object({
  path: z.string(),
  reason: z.string().meta({
    description:
      '`large`: an untracked file over 10 MB. `repository`: the files of a submodule or of another repository. `unreadable`: a file that the server may not read, or that was written while it was read',
  }),
})
export type LeftOut = z.infer<typeof LeftOut>

/** The largest number of paths that `leftOut` names. */
export const maxLeftOut = 20

/** The numbers of files and lines in which two trees differ. Binary files count as files, but have no lines. */
export const ChangedLines = z.object({ files: z.int(), added: z.int(), removed: z.int() })
export type ChangedLines = z.infer<typeof ChangedLines>

/** The tree of a session's folder at one moment. */
export const Snapshot = z.object({
  when: SnapshotWhen,
  tree: z.string().meta({ description: "The id of the tree in the project's shadow" }),
  head: z.string().optional().meta({ description: 'The commit that was checked out' }),
  late: z
    .literal(true)
    .optional()
    .meta({ description: 'A tool call that can write files had begun before the snapshot was complete' }),
  leftOut: z.array(LeftOut).optional().meta({ description: 'Paths that the snapshot does not contain' }),
  changed: ChangedLines.optional().meta({
    description: 'The difference from the first snapshot of the session; absent if it was not counted',
  }),
})
export type Snapshot = z.infer<typeof Snapshot>

/** A snapshot as the state of a session keeps it. */
export const KnownSnapshot = Snapshot.omit({ when: true, changed: true }).extend({
  seq: z.int(),
  at: z.number(),
})
export type KnownSnapshot = z.infer<typeof KnownSnapshot>

/**
 * The snapshots of a turn. A snapshot is missing if it could not be taken, if snapshots are off, or if the turn is
 * still open.
 */
export const TurnSnapshots = z.object({
  turnId: z.string(),
  before: KnownSnapshot.optional(),
  after: KnownSnapshot.optional(),
})
export type TurnSnapshots = z.infer<typeof TurnSnapshots>

/** The snapshots that the state of a session keeps: the first one, and those of the last turns, oldest first. */
export const KnownSnapshots = z.object({
  first: KnownSnapshot,
  turns: z.array(TurnSnapshots),
  changed: ChangedLines.optional().meta({
    description: 'The difference between the first snapshot and the last one, if it was counted',
  }),
})
export type KnownSnapshots = z.infer<typeof KnownSnapshots>
