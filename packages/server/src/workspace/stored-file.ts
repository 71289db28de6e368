import { relative, resolve } from 'node:path'
import { type FileContent, hasCode, ParleyError } from '@parley/protocol'
import { bytesToRead, contentOf, headBytes, maxImageBytes } from './file-content.ts'
import { isInside } from './inside.ts'
import type { GitResult } from './run-git.ts'

/** Runs `ls-tree` or `cat-file` in a folder. Resolves with the result even if git fails. */
export type ReadStored = (
  args: readonly ['ls-tree' | 'cat-file', ...string[]],
  options?: { readonly limit: number },
) => Promise<GitResult>

/** Finds the version in the repository, otherwise in the snapshots. */
export async function readVersion(
  repository: ReadStored,
  snapshots: (<Result>(work: (git: ReadStored) => Promise<Result>) => Promise<Result>) | undefined,
  stored: Stored,
): Promise<FileContent> {
  try {
    return await readStored(repository, stored)
  } catch (thrown) {
    if (!snapshots || !hasCode(thrown, 'not_found') || thrown.details?.rev === undefined) throw thrown
    return snapshots((git) => readStored(git, stored))
  }
}

type Stored = { readonly folder: string; readonly path: string; readonly rev: string }

/** Reads a file of a commit or a snapshot. Filters are not run, so the result is the stored content. */
async function readStored(git: ReadStored, { folder, path, rev }: Stored): Promise<FileContent> {
  if (!/^(HEAD|[0-9a-f]{7,64})$/.test(rev))
    throw new ParleyError(
      'validation_error',
      'The version must be HEAD or the hash of a commit or a snapshot.',
    )
  const inside = insidePath(folder, path)
  const found = await git(['ls-tree', '-l', '-z', '--end-of-options', rev, '--', inside])
  if (found.code !== 0) throw noVersion(rev)
  const [, mode, type, hash = '', length] = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t/.exec(found.stdout) ?? []
  if (mode === undefined) throw new ParleyError('not_found', `There is no ${path} in the version ${rev}.`)
  if (type !== 'blob' || mode === '120000')
    throw new ParleyError('validation_error', `${path} is not a file in the version ${rev}.`)
  const size = Number(length)
  const { bytes } = await git(['cat-file', 'blob', hash], { limit: maxImageBytes })
  bytesToRead(bytes.subarray(0, headBytes), size)
  return { ...contentOf(bytes, size), path: inside, size }
}

/** Checks only the path, because the file may no longer exist. Git reads nothing outside its objects. */
function insidePath(folder: string, path: string): string {
  if (path.includes('\0'))
    throw new ParleyError('validation_error', 'A path must not contain null characters.')
  const place = resolve(folder, path)
  if (place === folder) throw new ParleyError('validation_error', `${path} is a folder.`)
  if (isInside(folder, place)) return relative(folder, place)
  throw new ParleyError('forbidden', `${path} is not in the folder of this session.`)
}

function noVersion(rev: string): ParleyError {
  return new ParleyError('not_found', `There is no version ${rev} here.`, { details: { rev } })
}
