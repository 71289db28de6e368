import { chmod, lstat, opendir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Deletes a folder with everything in it, without following links. Makes read-only folders writable first, because
 * some package managers write-protect their files.
 */
export async function removeFolder(folder: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 } as const
  try {
    await rm(folder, options)
  } catch (error) {
    if (!isProtected(error)) throw error
    await makeWritable(folder)
    await rm(folder, options)
  }
}

const isProtected = (error: unknown) =>
  ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')

async function makeWritable(folder: string): Promise<void> {
  if (!(await lstat(folder)).isDirectory()) return
  await chmod(folder, 0o700)
  for await (const entry of await opendir(folder))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name))
}
