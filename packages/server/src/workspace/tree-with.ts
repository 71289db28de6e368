import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ShadowFolder } from './shadow-folder.ts'
import { workPrefix } from './snapshot.ts'
import type { EntryText } from './tree-differences.ts'

/** Creates an index with the paths of a tree. It is removed when it is disposed. */
export async function temporaryIndex(
  at: ShadowFolder,
  tree: string,
): Promise<AsyncDisposable & { readonly file: string }> {
  const file = join(at.shadow.place, `${workPrefix}${randomBytes(6).toString('hex')}`)
  await at.git(['read-tree', tree], { index: file })
  return {
    file,
    async [Symbol.asyncDispose]() {
      await Promise.all([file, `${file}.lock`].map((path) => rm(path, { force: true })))
    },
  }
}

export type NewEntry = { readonly path: string; readonly entry: EntryText }

/** Returns the tree with these entries at their paths. */
export async function treeWith(
  at: ShadowFolder,
  tree: string,
  entries: readonly NewEntry[],
): Promise<string> {
  if (entries.length === 0) return tree
  await using index = await temporaryIndex(at, tree)
  const zeros = '0'.repeat(tree.length)
  // Removals come first, because a file can take the place of a folder.
  const lines = entries
    .toSorted((a, b) => Number(a.entry !== undefined) - Number(b.entry !== undefined))
    .map(({ path, entry }) => (entry === undefined ? `0 ${zeros}\t${path}\0` : `${entry}\t${path}\0`))
  const input = Buffer.from(lines.join(''), 'latin1')
  await at.git(['update-index', '-z', '--index-info'], { index: index.file, input })
  return (await at.git(['write-tree'], { index: index.file })).toString().trim()
}
