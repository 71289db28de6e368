import { z } from 'zod'
import { taggedUnion } from './tagged-union.ts'

export const TreeEntry = z.object({
  name: z.string(),
  kind: z.enum(['file', 'folder', 'link', 'other']),
  size: z.int().optional().meta({ description: 'In bytes, of a file' }),
  leadsTo: z
    .enum(['file', 'folder'])
    .optional()
    .meta({ description: "Of a link: what its target is, if the target is in the session's folders" }),
  ignored: z.boolean().optional().meta({ description: 'git ignores the file or folder' }),
})
export type TreeEntry = z.infer<typeof TreeEntry>

/** One level of a folder. */
export const Tree = z.object({
  path: z.string().meta({
    description: "The path in the session's folder, empty for the folder itself; absolute in another folder",
  }),
  entries: z.array(TreeEntry).meta({ description: 'Folders first, then by name' }),
  cut: z.boolean().meta({ description: 'True if the folder has more entries' }),
})
export type Tree = z.infer<typeof Tree>

const file = {
  path: z.string().meta({ description: 'The path, as in the tree' }),
  absolutePath: z.string().optional().meta({ description: 'Absent for an earlier version' }),
  size: z.int().meta({ description: 'In bytes' }),
}

/** The content of a file. Its first bytes determine the type. */
export const FileContent = taggedUnion('type', [
  z.object({
    type: z.literal('text'),
    ...file,
    text: z.string(),
    cut: z.boolean().meta({ description: 'True if only the first 2 MB are in `text`' }),
  }),
  z.object({
    type: z.literal('image'),
    ...file,
    mimeType: z.string(),
    data: z.string().meta({ description: 'base64' }),
  }),
  z.object({ type: z.literal('binary'), ...file }),
])
export type FileContent = z.infer<typeof FileContent>
