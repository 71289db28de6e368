import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'

export type LineCount = { readonly lines: number; readonly binary: boolean }

/** The number of bytes that are searched for a null byte. As in git, a file with a null byte is binary. */
const binaryCheckBytes = 8_000
const chunkBytes = 64 * 1024
const atOnce = 8

/**
 * Counts the lines of untracked files. Symbolic links are not followed; a link counts as one line. Paths that are not
 * files, do not exist, or would exceed `maxBytes` in total have no entry.
 */
export async function countLines(
  folder: string,
  paths: readonly string[],
  maxBytes: number,
): Promise<Map<string, LineCount>> {
  const counts = new Map<string, LineCount>()
  const waiting = [...paths]
  let left = maxBytes
  async function work(): Promise<void> {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const file = join(folder, path)
      const found = await lstat(file).catch(() => undefined)
      if (found?.isSymbolicLink()) counts.set(path, { lines: 1, binary: false })
      if (!found?.isFile() || found.size > left) continue
      left -= found.size
      const count = await countIn(file, found.size).catch(() => undefined)
      if (count) counts.set(path, count)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return counts
}

/** Reads at most the previous size of the file, so that the count ends even if the file grows. */
async function countIn(file: string, size: number): Promise<LineCount> {
  // The file may have been replaced by a link or a pipe since lstat.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const chunk = Buffer.alloc(Math.min(chunkBytes, Math.max(1, size)))
  let lines = 0
  let last = 10
  for (let at = 0; at < size; ) {
    const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, size - at), at)
    if (bytesRead === 0) break
    const read = chunk.subarray(0, bytesRead)
    if (at === 0 && read.subarray(0, binaryCheckBytes).includes(0)) return { lines: 0, binary: true }
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, end + 1)) lines++
    last = read[bytesRead - 1] ?? last
    at += bytesRead
  }
  return { lines: last === 10 ? lines : lines + 1, binary: false }
}
