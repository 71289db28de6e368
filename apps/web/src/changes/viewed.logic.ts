import type { FileChange } from '@parley/protocol'

/** The content of each file that the person has viewed, by its path. */
export type ViewedMarks = ReadonlyMap<string, string>

/** Whether the person has viewed the present content of the file. */
export function isViewed(marks: ViewedMarks, { path, blob }: FileChange): boolean {
  return blob !== undefined && marks.get(path) === blob
}

/** The next file that is not viewed: after the given file, otherwise from the start of the list. */
export function nextUnviewed(
  marks: ViewedMarks,
  files: readonly FileChange[],
  path: string,
): FileChange | undefined {
  const at = files.findIndex((file) => file.path === path)
  const inOrder = [...files.slice(at + 1), ...files.slice(0, Math.max(0, at))]
  return inOrder.find((file) => file.path !== path && !isViewed(marks, file))
}
