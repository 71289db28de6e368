/**
 * A path in the form that the file tree uses: relative to the folder, without `.` and `..`. Relative paths
 * start in `from`. Undefined if the path is outside the folder.
 */
export function pathInside(folder: string, path: string, from = ''): string | undefined {
  const root = folder.endsWith('/') ? folder : `${folder}/`
  if (path === folder) return ''
  if (path.startsWith('/') && !path.startsWith(root)) return undefined
  if (/^~(\/|$)/.test(path)) return undefined
  const written = path.startsWith('/') ? path.slice(root.length) : `${from}/${path}`
  const parts: string[] = []
  for (const part of written.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join('/')
}

/** The path of the folder that contains a file; empty at the top. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

/** The paths of the folders around a file, outermost first. */
export function foldersAbove(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
