import type { TreeEntry } from '@parley/protocol'

/** One level of a folder, as far as it is loaded. */
export type Level = {
  readonly entries?: readonly TreeEntry[]
  /** The folder has more entries. */
  readonly cut?: boolean
  readonly error?: unknown
}

export type TreeRow = {
  readonly path: string
  readonly depth: number
  readonly entry: TreeEntry
  readonly isFolder: boolean
  readonly isOpen: boolean
  /** The position among the entries of its folder, from 1. */
  readonly place: number
  readonly of: number
  /** The state of an open folder whose entries are not all shown. */
  readonly note?: 'loading' | 'failed' | 'empty' | 'cut'
}

type Tree = { readonly levels: ReadonlyMap<string, Level>; readonly opened: ReadonlySet<string> }

export const isFolder = ({ kind, leadsTo }: TreeEntry) => kind === 'folder' || leadsTo === 'folder'
/** True if there is nothing to open, such as a pipe, or a link whose target is outside the folder. */
export const cannotOpen = ({ kind, leadsTo }: TreeEntry) =>
  kind === 'other' || (kind === 'link' && leadsTo === undefined)

/** The rows of a tree, with the entries of each open folder below it. */
export function treeRows(tree: Tree, folder = '', depth = 1): TreeRow[] {
  const entries = tree.levels.get(folder)?.entries ?? []
  return entries.flatMap((entry, index) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    const isOpen = isFolder(entry) && tree.opened.has(path)
    const note = isOpen ? noteOf(tree.levels.get(path)) : undefined
    const row: TreeRow = {
      path,
      depth,
      entry,
      isFolder: isFolder(entry),
      isOpen,
      place: index + 1,
      of: entries.length,
      ...(note && { note }),
    }
    return isOpen ? [row, ...treeRows(tree, path, depth + 1)] : [row]
  })
}

function noteOf(level: Level | undefined): TreeRow['note'] {
  if (level?.error !== undefined) return 'failed'
  if (level?.entries === undefined) return 'loading'
  if (level.cut) return 'cut'
  return level.entries.length === 0 ? 'empty' : undefined
}

/** The effect of a key in the tree: the row that becomes active, or an action on the active row. */
export type TreeMove = { readonly to: number } | { readonly do: 'open' | 'close' | 'choose' }

const page = 12

export function treeMove(key: string, rows: readonly TreeRow[], active: number): TreeMove | undefined {
  const row = rows[active]
  const at = (index: number) => ({ to: Math.max(0, Math.min(rows.length - 1, index)) })
  switch (key) {
    case 'ArrowDown':
      return at(active + 1)
    case 'ArrowUp':
      return at(active - 1)
    case 'PageDown':
      return at(active + page)
    case 'PageUp':
      return at(active - page)
    case 'Home':
      return at(0)
    case 'End':
      return at(rows.length - 1)
    case 'Enter':
    case ' ':
      return row && { do: 'choose' }
    case 'ArrowRight':
      if (!row?.isFolder) return undefined
      if (!row.isOpen) return { do: 'open' }
      return (rows[active + 1]?.depth ?? 0) > row.depth ? at(active + 1) : undefined
    case 'ArrowLeft':
      if (row?.isOpen) return { do: 'close' }
      return row && row.depth > 1 ? at(parentIndex(rows, active)) : undefined
    default:
      return key.length === 1 ? startingWith(key, rows, active) : undefined
  }
}

function parentIndex(rows: readonly TreeRow[], active: number): number {
  const depth = rows[active]?.depth ?? 1
  for (let index = active - 1; index >= 0; index--) if ((rows[index]?.depth ?? 0) < depth) return index
  return active
}

/** The next row whose name starts with the typed character. */
function startingWith(key: string, rows: readonly TreeRow[], active: number): TreeMove | undefined {
  const wanted = key.toLowerCase()
  for (let step = 1; step <= rows.length; step++) {
    const index = (active + step) % rows.length
    if (rows[index]?.entry.name.toLowerCase().startsWith(wanted)) return { to: index }
  }
  return undefined
}
