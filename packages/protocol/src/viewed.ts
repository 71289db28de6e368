import { z } from 'zod'

/** The hash with which git names the content of a file. */
export const BlobHash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'the hash of a blob')
export type BlobHash = z.infer<typeof BlobHash>

/** A file that a person has viewed. The mark applies to one content: with another `blob`, the file is unviewed again. */
export const ViewedFile = z.object({
  path: z
    .string()
    .max(4096)
    .regex(/^[^\0]+$/, 'a path without null characters'),
  blob: BlobHash.meta({ description: 'The content that was viewed; zeros if the file was deleted' }),
})
export type ViewedFile = z.infer<typeof ViewedFile>

export const ViewedMarks = z.strictObject({
  files: z
    .array(
      ViewedFile.extend({
        blob: BlobHash.nullable().meta({ description: 'null removes the mark of the file' }),
      }),
    )
    .min(1)
    .max(500),
})
export type ViewedMarks = z.infer<typeof ViewedMarks>
