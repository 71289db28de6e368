import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/**
 * The text at the start of a regular file, up to `maxBytes`. Throws for anything but a regular file. It never blocks,
 * even if the path leads to a pipe without a writer or to a device without an end.
 */
export function readRegularFile(path: string, maxBytes: number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw new Error(`${path} is not a regular file`)
    const bytes = Buffer.alloc(Math.min(found.size, maxBytes))
    return bytes.toString('utf8', 0, readSync(file, bytes))
  } finally {
    closeSync(file)
  }
}
