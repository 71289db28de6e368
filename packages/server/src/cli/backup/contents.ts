import { z } from 'zod'

/**
 * The files of a data folder that a backup contains, beside the database. Every file with keys that belong to the
 * database must be in this list. A backup does not contain installed agents, or files that identify the machine.
 */
export const backedUpFiles: readonly BackedUpFile[] = [
  { name: 'config.json' },
  // The current token is kept: it may be newer than the token in the backup, and may have replaced it after a leak.
  { name: 'token', keepsCurrent: true },
  // The seals of both keys remain valid, because the database has the public keys.
  { name: 'seal-key.pem', keepsCurrent: true },
]

type BackedUpFile = {
  readonly name: string
  /** True if a restore must not replace an existing file. */
  readonly keepsCurrent?: boolean
}

export const databaseName = 'parley.sqlite'
export const manifestName = 'manifest.json'

export function isBackedUp(name: string): boolean {
  return name === databaseName || backedUpFiles.some((file) => file.name === name)
}

/** The first file of an archive. It lists the other files, in their order. */
export const Manifest = z.object({
  format: z.literal(1),
  /** The version of Parley that made the backup. */
  version: z.string(),
  createdAt: z.number(),
  files: z
    .array(
      z.object({
        name: z.string().refine(isBackedUp, 'not a file of a backup'),
        bytes: z.int().min(0),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .min(1)
    .refine((files) => new Set(files.map(({ name }) => name)).size === files.length, 'a file occurs twice')
    .refine((files) => files.some(({ name }) => name === databaseName), 'there is no database'),
})
export type Manifest = z.infer<typeof Manifest>
export type FileEntry = Manifest['files'][number]
