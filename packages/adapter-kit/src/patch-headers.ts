/** One file in a patch of the form `*** Update File: …`, with the action of the patch on this file. */
export type PatchedFile = {
  readonly action: 'edit' | 'delete' | 'move'
  readonly path: string
  readonly to?: string
}

// The leading blanks exclude line ends: otherwise the time to match many empty lines would grow quadratically.
const header = /^[^\S\r\n\u2028\u2029]*\*\*\* (Add File|Update File|Delete File|Move to):([^\n]*)/gm

/**
 * The files in the headers of a patch. Lenient: a header that the agent would not recognise only leads to an
 * extra permission request.
 */
export function patchedFiles(patch: string): PatchedFile[] {
  const files: PatchedFile[] = []
  for (const [, name, words = ''] of patch.matchAll(header)) {
    const path = words.trim()
    if (path === '') continue
    if (name !== 'Move to') files.push({ action: name === 'Delete File' ? 'delete' : 'edit', path })
    else if (files.at(-1)?.action === 'edit')
      files.push({ action: 'move', path: files.pop()?.path ?? path, to: path })
    else files.push({ action: 'move', path })
  }
  return files
}

/** Every file that the patch names, including the destinations of moves. */
export function pathsOfPatch(files: readonly PatchedFile[]): string[] {
  return files.flatMap(({ path, to }) => (to === undefined ? [path] : [path, to]))
}

/**
 * The kind of the whole patch. A patch that also deletes or moves a file counts as a deletion or a move, not as an
 * edit.
 */
export function kindOfPatch(files: readonly PatchedFile[]): PatchedFile['action'] {
  const does = (what: PatchedFile['action']) => files.some(({ action }) => action === what)
  return does('delete') ? 'delete' : does('move') ? 'move' : 'edit'
}

const unified = /^(?:--- |\+\+\+ |rename (?:from|to) |copy (?:from|to) )([^\t\n]+)/gm

/** The files in the headers of a unified diff, with and without git's prefixes `a/` and `b/`. */
export function unifiedPaths(patch: string): string[] {
  const named = [...patch.matchAll(unified)].map(([, name = '']) => name.trim().replace(/^"(.*)"$/, '$1'))
  return named
    .filter((name) => name !== '/dev/null')
    .flatMap((name) => (/^[ab]\//.test(name) ? [name, name.slice(2)] : [name]))
}
