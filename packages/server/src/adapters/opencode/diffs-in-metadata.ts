import type { Diff } from '@parley/protocol'
import type { NativeChangedFile, NativeMetadata } from './native.ts'

/**
 * The changes in the metadata of a request. A patch of several files lists each in `files`; `diff` has all in one
 * text.
 */
export function diffsIn(metadata: NativeMetadata): { diffs?: Diff[] } {
  const { files, diff, filepath } = metadata
  if (Array.isArray(files) && files.length > 0) return { diffs: files.map(diffOfFile) }
  if (typeof diff !== 'string' || typeof filepath !== 'string') return {}
  return { diffs: [{ path: filepath, patch: diff }] }
}

export function diffOfFile({ filePath = '', movePath, type, patch }: NativeChangedFile): Diff {
  return {
    path: movePath ?? filePath,
    ...(movePath !== undefined && { movedFrom: filePath }),
    ...(type === 'delete' && { after: null }),
    ...(patch !== undefined && { patch }),
  }
}
