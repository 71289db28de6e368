import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/**
 * The text at the beginning of a regular file, up to `mostBytes`. Throws if there is none. It never waits: what a folder or
 * an agent calls a file may be a pipe that nobody writes to, or a link to a device that never ends.
 */
export function readRegularFile(path: string, mostBytes: number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw new Error(`${path} is not a regular file`)
    const bytes = Buffer.alloc(Math.min(found.size, mostBytes))
    return bytes.toString('utf8', 0, readSync(file, bytes))
  } finally {
    closeSync(file)
  }
}
