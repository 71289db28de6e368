import { constants, type Stats } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { type LeftOut, ParleyError } from '@parley/protocol'
import type { ShadowFolder } from './shadow-folder.ts'

/** Functions for paths as bytes, because the name of a file need not be valid UTF-8. */

/** A larger untracked file is left out of snapshots. */
const maxUntrackedBytes = 10 * 1024 * 1024
const maxFresh = { files: 20_000, bytes: 200 * 1024 * 1024 }
const atOnce = 16

export function pathsIn(bytes: Buffer): Buffer[] {
  const paths: Buffer[] = []
  for (let at = 0, end = bytes.indexOf(0); end >= 0; at = end + 1, end = bytes.indexOf(0, at))
    paths.push(bytes.subarray(at, end))
  return paths
}

export type ChangedPath = { readonly path: Buffer; readonly isDeleted: boolean }

/** Reads the output of `git diff-files --name-status -z`. */
export function statusesIn(bytes: Buffer): ChangedPath[] {
  const fields = pathsIn(bytes)
  return fields.flatMap((path, index) =>
    index % 2 === 0 ? [] : [{ path, isDeleted: fields[index - 1]?.toString() === 'D' }],
  )
}

const end = Buffer.from([0])
export const joined = (paths: readonly Buffer[]) => Buffer.concat(paths.flatMap((path) => [path, end]))

export const isIgnoreFile = (path: Buffer) => /(^|\/)\.gitignore$/.test(path.toString('latin1'))

export type Examined = {
  added: Buffer[]
  readonly removed: Buffer[]
  readonly leftOut: LeftOut[]
  /** The untracked files that are new since the last snapshot. */
  readonly fresh: { files: number; bytes: number }
}

/** Decides for each path whether it is added to the next tree, removed from it, or left out of it. */
export async function examine(
  at: ShadowFolder,
  { changed, others }: { readonly changed: readonly ChangedPath[]; readonly others: readonly Buffer[] },
): Promise<Examined> {
  const found: Examined = { added: [], removed: [], leftOut: [], fresh: { files: 0, bytes: 0 } }
  const grown: Buffer[] = []
  const waiting = [
    ...changed.map((one) => ({ ...one, isKnown: true })),
    ...others.map((path) => ({ path, isDeleted: false, isKnown: false })),
  ].reverse()
  const leaveOut = (path: Buffer, reason: string, isKnown = false) => {
    found.leftOut.push({ path: path.toString().replace(/\/$/, ''), reason })
    if (isKnown) found.removed.push(path)
  }
  async function work(): Promise<void> {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { path, isDeleted, isKnown } = next
      if (isDeleted) found.removed.push(path)
      else if (path.at(-1) === slash) leaveOut(path, 'repository')
      else {
        const { verdict, bytes } = await verdictOn(at.shadow.workTree, path)
        if (verdict === 'kept' && !isKnown) {
          found.fresh.files++
          found.fresh.bytes += bytes
        }
        if (verdict === 'large' && isKnown) grown.push(path)
        else if (verdict === 'kept') found.added.push(path)
        else if (verdict !== 'gone') leaveOut(path, verdict, isKnown)
        else if (isKnown) found.removed.push(path)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const tracked = await trackedAmong(at, grown)
  for (const path of grown)
    if (tracked.has(path.toString())) found.added.push(path)
    else leaveOut(path, 'large', true)
  found.leftOut.sort((a, b) => (a.path < b.path ? -1 : 1))
  return found
}

const slash = '/'.charCodeAt(0)
type Verdict = 'kept' | 'gone' | 'large' | 'unreadable' | 'repository'

async function verdictOn(workTree: string, path: Buffer): Promise<{ verdict: Verdict; bytes: number }> {
  const file = Buffer.concat([Buffer.from(`${workTree}/`), path])
  const found: Stats | undefined = await lstat(file).catch(() => undefined)
  const verdict = found ? await verdictOnFile(file, path.toString('latin1'), found) : 'gone'
  return { verdict, bytes: found?.size ?? 0 }
}

async function verdictOnFile(file: Buffer, name: string, found: Stats): Promise<Verdict> {
  // Git does not accept these names.
  if (/(^|\/)\.git(\/|$)/i.test(name)) return 'repository'
  if (found.isSymbolicLink()) return /(^|\/)\.gitmodules$/i.test(name) ? 'unreadable' : 'kept'
  // A directory among the files is a submodule; its commit has changed.
  if (found.isDirectory()) return 'kept'
  if (!found.isFile()) return 'gone'
  if (found.size > maxUntrackedBytes) return 'large'
  const isReadable = await access(file, constants.R_OK).then(
    () => true,
    () => false,
  )
  return isReadable ? 'kept' : 'unreadable'
}

/** Throws if there are so many new files that the folder is probably not a project, such as a folder of downloads. */
export function expectModest({ fresh }: Examined): void {
  if (fresh.files <= maxFresh.files && fresh.bytes <= maxFresh.bytes) return
  const size = `${fresh.files} untracked files with ${Math.ceil(fresh.bytes / 1024 / 1024)} MB`
  const message = `No snapshots are taken of this folder: it has ${size}. Add a .gitignore for files that nobody edits.`
  throw new ParleyError('not_supported', message, { details: { ...fresh } })
}

/** The large files that the repository tracks. */
async function trackedAmong(at: ShadowFolder, grown: readonly Buffer[]): Promise<ReadonlySet<string>> {
  if (grown.length === 0) return new Set()
  const paths = grown.slice(0, 1_000).map(String)
  const { bytes } = await at.repository.look(['ls-files', '-z', '--', ...paths], { signal: at.signal })
  return new Set(pathsIn(bytes).map(String))
}
