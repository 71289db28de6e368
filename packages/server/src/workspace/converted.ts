import { ParleyError } from '@parley/protocol'
import type { Look } from './git.ts'
import type { TreeEntry } from './restore.ts'
import { isRegular } from './seen-files.ts'
import type { ShadowFolder } from './shadow-folder.ts'

/**
 * Snapshots contain files as they are in the folder. Commits contain files as git converts them (line endings,
 * filters, encodings). This module converts files of a commit to their form in the folder.
 */

const conversions = ['filter', 'working-tree-encoding', 'text', 'eol', 'crlf', 'ident'] as const
type Conversion = (typeof conversions)[number]

export type Conversions = ReadonlyMap<string, ReadonlyMap<Conversion, string>>

type Repository = { readonly look: Look; readonly trusted: boolean }

/** The attributes that make git convert these paths. The paths are relative to the work tree. */
export async function conversionsOf(look: Look, paths: readonly string[]): Promise<Conversions> {
  const input = paths.map((path) => `${path}\0`).join('')
  const { code, stdout, stderr } = await look(['check-attr', '-z', '--stdin', ...conversions], { input })
  if (code !== 0) throw new ParleyError('busy', `git check-attr failed: ${stderr}. Try again.`)
  const found = new Map(paths.map((path) => [path, new Map<Conversion, string>()]))
  const fields = stdout.split('\0')
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [path = '', name = '', value = ''] = fields.slice(at, at + 3)
    if (value !== 'unspecified' && value !== 'unset') found.get(path)?.set(name as Conversion, value)
  }
  return found
}

/** The entries of a commit, with each content converted to its form in the folder and stored in the shadow. */
export async function asInFolder(
  at: ShadowFolder,
  { look, trusted }: Repository,
  entries: ReadonlyMap<string, TreeEntry>,
): Promise<Map<string, TreeEntry>> {
  const converted = await conversionsOf(look, [...entries.keys()])
  const isAlways = await at.convertsAnywhere()
  const found = new Map<string, TreeEntry>()
  for (const [path, entry] of entries) {
    const attributes = converted.get(path)
    const filter = attributes?.get('filter')
    if (filter !== undefined && !trusted) throw needsTrust(path, filter)
    const isPlain = !isRegular(entry) || !(isAlways || (attributes?.size ?? 0) > 0)
    found.set(path, isPlain ? entry : { ...entry, object: await inFolder(at, look, path, entry) })
  }
  return found
}

async function inFolder(at: ShadowFolder, look: Look, path: string, { object }: TreeEntry): Promise<string> {
  const { code, bytes, stderr, cut } = await look(['cat-file', '--filters', `--path=${path}`, object])
  if (code !== 0 || cut)
    throw new ParleyError('busy', `${path} could not be converted: ${stderr || 'it is too large'}.`)
  return storedIn(at, bytes)
}

/** Stores a content in the shadow unchanged. Returns its hash. */
export async function storedIn(at: ShadowFolder, bytes: Buffer): Promise<string> {
  return (await at.git(['hash-object', '-w', '--stdin', '--no-filters'], { input: bytes })).toString().trim()
}

export function needsTrust(path: string, filter: string): ParleyError {
  const message = `${path} is converted by the filter ${filter}, which runs only in a trusted folder. Trust the folder, or change the file in a terminal.`
  return new ParleyError('not_supported', message, { details: { path, filter } })
}
