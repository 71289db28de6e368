import { createHash } from 'node:crypto'
import { lstat, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { openFile } from './inside.ts'

const chunkBytes = 64 * 1024
const atOnce = 8

type Options = { readonly algorithm: 'sha1' | 'sha256'; readonly maxBytes: number }

/**
 * Computes the blob hashes of files from their bytes, without filters. The content of a symbolic link is its target.
 * There is no entry for a path that is neither a file nor a link, that changes while it is read, or that would exceed
 * `maxBytes` in total.
 */
export async function hashFiles(
  folder: string,
  paths: readonly string[],
  { algorithm, maxBytes }: Options,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  const waiting = [...paths].reverse()
  let left = maxBytes
  async function work(): Promise<void> {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const file = join(folder, path)
      const found = await lstat(file).catch(() => undefined)
      if (!found || found.size > left || !(found.isFile() || found.isSymbolicLink())) continue
      left -= found.size
      const hashing = found.isFile() ? hashFile(folder, path, algorithm) : hashLink(file, algorithm)
      const hash = await hashing.catch(() => undefined)
      if (hash !== undefined) hashes.set(path, hash)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return hashes
}

async function hashFile(
  folder: string,
  path: string,
  algorithm: Options['algorithm'],
): Promise<string | undefined> {
  await using opened = await openFile([folder], path)
  const { size } = opened.stats
  const hash = createHash(algorithm).update(`blob ${size}\0`)
  const chunk = Buffer.alloc(Math.min(chunkBytes, size + 1))
  let at = 0
  for (;;) {
    const { bytesRead } = await opened.handle.read(chunk, 0, chunk.length, at)
    if (bytesRead === 0) break
    at += bytesRead
    if (at > size) return undefined
    hash.update(chunk.subarray(0, bytesRead))
  }
  return at === size ? hash.digest('hex') : undefined
}

/** The hash with which git names this content. */
export function blobOf(content: Buffer, algorithm: Options['algorithm']): string {
  return createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex')
}

async function hashLink(file: string, algorithm: Options['algorithm']): Promise<string> {
  return blobOf(await readlink(file, 'buffer'), algorithm)
}
