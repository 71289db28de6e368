/** The maximum depth of a JSON value, which is more than any legitimate value needs. */
export const maxJsonDepth = 200

/**
 * True if a value is nested deeper than `levels`. Checks level by level, not recursively, because the sender controls
 * the depth.
 */
export function isTooDeep(value: unknown, levels = maxJsonDepth): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true
    level = level.flatMap((item) => (item !== null && typeof item === 'object' ? Object.values(item) : []))
  }
  return false
}
