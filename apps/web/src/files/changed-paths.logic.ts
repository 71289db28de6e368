/**
 * True if a change of these paths may be a change of the file or folder `path`. The paths are files, or folders with
 * everything in them; without paths, anything may have changed.
 */
export function mayConcern(path: string, paths: readonly string[] | undefined): boolean {
  return (
    paths?.some((changed) => changed === path || changed === '' || path.startsWith(`${changed}/`)) ?? true
  )
}

/** The shown folders whose entries may have changed. */
export function foldersConcerned(
  folders: Iterable<string>,
  paths: readonly string[] | undefined,
): readonly string[] {
  const parents = paths && new Set(paths.map((path) => path.slice(0, Math.max(0, path.lastIndexOf('/')))))
  return [...folders].filter((folder) => parents?.has(folder) || mayConcern(folder, paths))
}
