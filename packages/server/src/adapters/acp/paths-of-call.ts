import { patchedFiles, pathsOfPatch } from '../patch-headers.ts'
import { type Call, isRecord } from './translate-state.ts'

/** Fields of an input that name files, as agents call them: `path`, `file_path`, `notebookPath`, `target_file`, `uri`. */
const naming = /(path|file|file_?name|uri|director(y|ie)|dir|folder|destination|target|source)s?$/i
const deepest = 5

/** Every file that a call names: where it works, what it shows, and what its input says. */
export function pathsOfCall({
  locations,
  content,
  input,
}: Pick<Call, 'locations' | 'content' | 'input'>): string[] {
  const told = [...locations, ...content].flatMap(({ path }) => path || [])
  return [...new Set([...told, ...pathsIn(input)])]
}

function pathsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return pathsOfPatch(patchedFiles(value))
  if (depth > deepest) return []
  if (Array.isArray(value)) return value.flatMap((one) => pathsIn(one, depth + 1))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, field]) => [
    // Some give changes by their files.
    ...(name.startsWith('/') ? [name] : []),
    ...(naming.test(name) ? [field].flat().filter(isName) : []),
    ...pathsIn(field, depth + 1),
  ])
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
