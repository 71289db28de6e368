import { visible } from '@parley/protocol'

export { visible }

/** Text of an agent on one line no wider than `width`, safe for a terminal. */
export function oneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = visible(text.trim().replace(/\s*\n\s*/g, ' ⏎ '))
  return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line
}
