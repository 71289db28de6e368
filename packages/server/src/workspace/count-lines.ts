import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'

export type LineCount = { readonly lines: number; readonly binary: boolean }

/** As git does: a null byte this near to the beginning makes a file binary. */
const lookedAtForBinary = 8_000
const chunkBytes = 64 * 1024
const atOnce = 8

/**
 * The lines of files that git does not know yet. Nothing is followed out of the folder: a link has the one line that
 * says where it leads. Undefined for what is no file, is gone, or would be more to read than `mostBytes` in all.
 */
export async function countLines(
  folder: string,
  paths: readonly string[],
  mostBytes: number,
): Promise<Map<string, LineCount>> {
  const counts = new Map<string, LineCount>()
  const waiting = [...paths]
  let left = mostBytes
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

/** Reads no further than the size it had: a file that grows must not hold this up. */
async function countIn(file: string, size: number): Promise<LineCount> {
  // It may have become a link or a pipe since it was looked at.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const chunk = Buffer.alloc(Math.min(chunkBytes, Math.max(1, size)))
  let lines = 0
  let last = 10
  for (let at = 0; at < size; ) {
    const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, size - at), at)
    if (bytesRead === 0) break
    const read = chunk.subarray(0, bytesRead)
    if (at === 0 && read.subarray(0, lookedAtForBinary).includes(0)) return { lines: 0, binary: true }
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, end + 1)) lines++
    last = read[bytesRead - 1] ?? last
    at += bytesRead
  }
  return { lines: last === 10 ? lines : lines + 1, binary: false }
}
