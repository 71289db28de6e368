import { z } from 'zod'

export const RewindPreview = z.object({
  files: z.array(z.string()).meta({ description: 'Absolute paths of the files that would change' }),
  notes: z.array(z.string()).meta({ description: 'Effects that are not undone, as sentences for people' }),
})
export type RewindPreview = z.infer<typeof RewindPreview>
