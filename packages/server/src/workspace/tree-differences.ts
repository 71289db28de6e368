import { type ChangedLines, ParleyError } from '@parley/protocol'
import { relativeTo, type ShadowFolder } from './shadow-folder.ts'

/**
 * The mode and the object of a path in a tree, such as `100644 0123…`. Undefined if the tree does not contain the
 * path.
 */
export type EntryText = string | undefined

/** A path in which two trees differ. `path` is relative to the work tree; each of its characters is one byte. */
export type Difference = { readonly path: string; readonly from: EntryText; readonly to: EntryText }

/** The differences between two trees. A moved file is a removed path and a new path. */
export async function differencesOf(at: ShadowFolder, from: string, to: string): Promise<Difference[]> {
  const trees = [from, to].map(checkedTree)
  if (from === to) return []
  const found = await at.tryGit(['diff-tree', '-r', '--raw', '--no-abbrev', '--no-renames', '-z', ...trees])
  if (found.cut) throw new ParleyError('not_supported', 'Too many files have changed to be restored at once.')
  if (found.code !== 0) throw missingTree(found.stderr)
  const fields = found.bytes.toString('latin1').split('\0').slice(0, -1)
  return fields.flatMap((path, index) => {
    if (index % 2 === 0) return []
    // `:100644 100644 <object> <object> M`
    const [modes = '', mode = '', object = '', other = ''] = (fields[index - 1] ?? '').split(' ')
    return [{ path, from: entryOf(modes.slice(1), object), to: entryOf(mode, other) }]
  })
}

/**
 * Counts the files and lines of the folder in which two trees differ. A moved file counts as one file, with its
 * changed lines only.
 */
export async function countDifferences(at: ShadowFolder, from: string, to: string): Promise<ChangedLines> {
  const trees = [from, to].map(checkedTree)
  const options = ['-r', '--shortstat', '--find-renames', relativeTo(at)]
  const found = await at.tryGit(['diff-tree', ...options, ...trees])
  if (found.code !== 0) throw missingTree(found.stderr)
  // The output has the form ` 3 files changed, 10 insertions(+), 2 deletions(-)`. A count of zero is left out.
  const numberOf = (what: string) => Number(new RegExp(`(\\d+) ${what}`).exec(found.stdout)?.[1] ?? 0)
  return { files: numberOf('file'), added: numberOf('insertion'), removed: numberOf('deletion') }
}

const entryOf = (mode: string, object: string): EntryText =>
  mode === '000000' ? undefined : `${mode} ${object}`

export function checkedTree(tree: string): string {
  if (/^[0-9a-f]{40,64}$/.test(tree)) return tree
  throw new ParleyError('validation_error', 'Name a snapshot by the id of its tree.')
}

export function missingTree(reason: string): ParleyError {
  const message = 'The snapshot is not stored here any more.'
  return new ParleyError('not_found', message, { details: { missing: 'snapshot', reason } })
}
