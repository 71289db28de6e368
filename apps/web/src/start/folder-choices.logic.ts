import type { Choice } from '../parts/choice-list.tsx'

const mostRecents = 8

/** Folders worked in before that hold the words typed, then those that the server found; each once. */
export function folderChoices(typed: string, recents: readonly string[], found: readonly string[]): Choice[] {
  const words = typed.trim().toLowerCase().replace(/^~\//, '')
  const known = recents
    .filter((folder) => folder.toLowerCase().includes(words) && folder !== typed)
    .slice(0, mostRecents)
  return [
    ...known.map((value) => ({ value, note: 'recent' })),
    // One that is typed whole is no choice: a list of it alone would only cover what is below.
    ...found.filter((value) => !known.includes(value) && value !== typed.trim()).map((value) => ({ value })),
  ]
}
