import { z } from 'zod'
import { CommandId } from './ids.ts'
import { MergeWay } from './merge.ts'
import { BlobHash } from './viewed.ts'

const base = { commandId: CommandId }

export const CommitHash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'the hash of a commit')

const FilePath = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]+$/, 'a path without null characters')

/**
 * A changed file with the content that the caller has seen. A command is refused if the file has other content by
 * then.
 */
export const SeenFile = z.strictObject({
  path: FilePath,
  from: FilePath.optional().meta({ description: 'The previous path of a renamed file' }),
  blob: BlobHash.meta({ description: 'The content that was seen; zeros if the file was deleted' }),
})
export type SeenFile = z.infer<typeof SeenFile>

const line = z.int().min(0)
/** A hunk of a patch, as its header names it: `@@ -oldStart,oldLines +newStart,newLines @@`. */
export const HunkRange = z.strictObject({ oldStart: line, oldLines: line, newStart: line, newLines: line })
export type HunkRange = z.infer<typeof HunkRange>

/** A changed file, or some hunks of its patch. */
export const SeenChange = SeenFile.extend({
  hunks: z
    .array(HunkRange)
    .min(1)
    .max(2000)
    .optional()
    .meta({ description: 'Absent: the whole change, including the mode' }),
})
export type SeenChange = z.infer<typeof SeenChange>

const BranchRef = z.string().min(1).max(250)
const changes = z.array(SeenChange).min(1).max(500)

/** The commands that change the files of a session's folder, its repository, or the remote. */
export const changeCommands = [
  z.strictObject({
    ...base,
    type: z.literal('changes.discard'),
    base: z
      .string()
      .regex(/^(?:HEAD|[0-9a-f]{40}|[0-9a-f]{64})?$/, 'HEAD, or the hash of a commit or a tree')
      .meta({ description: 'The base of the comparison: `base` of the list of changes' }),
    files: changes,
  }),
  z.strictObject({
    ...base,
    type: z.literal('changes.restore'),
    discarded: z.int().min(1).meta({ description: 'The seq of the event changes.discarded' }),
  }),
  z.strictObject({ ...base, type: z.literal('changes.stage'), files: changes }),
  z.strictObject({ ...base, type: z.literal('changes.unstage'), files: changes }),
  z.strictObject({
    ...base,
    type: z.literal('changes.commit'),
    message: z.string().max(100_000).regex(/\S/, 'the message is empty'),
    files: z.array(SeenFile).min(1).max(2000),
    staged: z.literal(true).optional().meta({
      description:
        'Commits what is staged; `files` are all staged files. Absent: commits the files as they are in the folder, and nothing else',
    }),
    verify: z.boolean().optional().meta({
      description: 'false: hooks that check the commit are not run. Absent: true',
    }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('branch.push'),
    branch: BranchRef.meta({ description: 'The branch that must be checked out' }),
    commit: CommitHash.meta({ description: 'The commit that must be checked out' }),
    replaces: CommitHash.optional().meta({
      description:
        'Replaces the branch at the remote if it is at this commit (force with lease). Absent: the branch at the remote can only be extended',
    }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('branch.merge'),
    branch: BranchRef.meta({ description: 'The branch that must be checked out' }),
    commit: CommitHash.meta({ description: 'The commit that must be checked out' }),
    into: BranchRef.meta({ description: 'The base branch' }),
    onto: CommitHash.meta({ description: 'The commit at which the base branch must be' }),
    folder: FilePath.optional().meta({
      description:
        'The folder in which the base branch is checked out, whose files change too. Absent: it is checked out nowhere',
    }),
    way: MergeWay.optional().meta({ description: 'Absent: `merge`' }),
    message: z
      .string()
      .max(100_000)
      .regex(/\S/, 'the message is empty')
      .optional()
      .meta({ description: 'The message of the new commit. A fast-forward makes none' }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('pull-request.open'),
    title: z.string().max(500).regex(/\S/, 'the title is empty'),
    body: z.string().max(60_000).optional(),
    draft: z.boolean().optional(),
  }),
] as const
