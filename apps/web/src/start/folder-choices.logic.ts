import type { Choice } from '../parts/choice-list.tsx'

const maxRecent = 8

/** Recent folders that contain the typed text, then the folders that the server found; each once. */
export function folderChoices(typed: string, recents: readonly string[], found: readonly string[]): Choice[] {
  const query = typed.trim().toLowerCase().replace(/^~\//, '')
  const known = recents
    .filter((folder) => folder.toLowerCase().includes(query) && folder !== typed)
    .slice(0, maxRecent)
  return [
    ...known.map((value) => ({ value, note: 'recent' })),
    // The typed folder itself is left out: a list that contains only this folder would cover the fields
    // below.
    ...found.filter((value) => !known.includes(value) && value !== typed.trim()).map((value) => ({ value })),
  ]
}
