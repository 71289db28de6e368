import { isFileField } from '@parley/protocol'
import { patchedFiles, pathsOfPatch, unifiedPaths } from './patch-headers.ts'

const maxInputDepth = 5

/** Every file that an input names: in a field for files, as the name of a field, or in the headers of a patch. */
export function pathsIn(input: unknown, depth = 0): string[] {
  if (typeof input === 'string') return [...pathsOfPatch(patchedFiles(input)), ...unifiedPaths(input)]
  if (depth > maxInputDepth || typeof input !== 'object' || input === null) return []
  if (Array.isArray(input)) return input.flatMap((one) => pathsIn(one, depth + 1))
  return Object.entries(input).flatMap(([name, field]) => [
    // In the inputs of some tools, the keys of an object are file paths.
    ...(/[./\\]/.test(name) ? [name] : []),
    ...(isFileField(name) ? [field].flat().filter(isName) : []),
    ...pathsIn(field, depth + 1),
  ])
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
