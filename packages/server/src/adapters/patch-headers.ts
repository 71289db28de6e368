/** What a patch text of the form `*** Update File: …` does to a file. */
export type PatchedFile = {
  readonly action: 'edit' | 'delete' | 'move'
  /** As the patch names it. */
  readonly path: string
  /** Where it is moved. */
  readonly to?: string
}

const header = /^\s*\*\*\* (Add File|Update File|Delete File|Move to):([^\n]*)/gm

/** By its headers alone. Lenient: one that is seen where a program sees none only makes somebody be asked. */
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

/** Every file that it names, also where one is moved. */
export function pathsOfPatch(files: readonly PatchedFile[]): string[] {
  return files.flatMap(({ path, to }) => (to === undefined ? [path] : [path, to]))
}

/** What it is as a whole. One that also deletes or moves is called by that: it is not just an edit. */
export function kindOfPatch(files: readonly PatchedFile[]): PatchedFile['action'] {
  const does = (what: PatchedFile['action']) => files.some(({ action }) => action === what)
  return does('delete') ? 'delete' : does('move') ? 'move' : 'edit'
}

const unified = /^(?:--- |\+\+\+ |rename (?:from|to) |copy (?:from|to) )([^\t\n]+)/gm

/** The files in the headers of a unified diff, with and without the letter that git puts in front. */
export function unifiedPaths(patch: string): string[] {
  const named = [...patch.matchAll(unified)].map(([, name = '']) => name.trim().replace(/^"(.*)"$/, '$1'))
  return named
    .filter((name) => name !== '/dev/null')
    .flatMap((name) => (/^[ab]\//.test(name) ? [name, name.slice(2)] : [name]))
}
