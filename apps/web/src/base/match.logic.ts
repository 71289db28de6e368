/**
 * Returns a score for the match of a name with the typed words, from 0 (no match) to 1. Every word must occur in the
 * name. A fuzzy match by letters would find a session by its folder when the person wanted a command.
 */
export function matchOf(name: string, typed: string): number {
  const [text, words] = [name.toLowerCase(), typed.toLowerCase().split(/\s+/).filter(Boolean)]
  if (!words.every((word) => text.includes(word))) return 0
  const atStarts = words.filter((word) => startsIn(text, word)).length
  return text.startsWith(words.join(' ')) ? 1 : 0.4 + (0.5 * atStarts) / Math.max(1, words.length)
}

function startsIn(text: string, word: string): boolean {
  return text.startsWith(word) || text.includes(` ${word}`)
}
