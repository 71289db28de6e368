/**
 * What an agent wrote, safe to put on a terminal: no escape sequence can move the cursor, forge a question or reach
 * the clipboard, and no direction mark can make a command read as another. One character at a time, so it may be
 * used on pieces of a text.
 */
export function visible(text: string): string {
  return text.replace(unsafe, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    if (code === 0x7f) return '\u2421'
    return `\\u{${code.toString(16)}}`
  })
}

/** The same on one line, no wider than `width`. */
export function oneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = visible(text.trim().replace(/\s*\n\s*/g, ' ⏎ '))
  return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unsafe = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
