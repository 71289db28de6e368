/** More than anything that is meant has. */
export const deepest = 200

/** Level by level rather than by recursion: the depth is the sender's choice. */
export function isTooDeep(value: unknown, levels = deepest): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true
    level = level.flatMap((item) => (item !== null && typeof item === 'object' ? Object.values(item) : []))
  }
  return false
}
