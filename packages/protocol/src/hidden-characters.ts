/**
 * Characters that a reader does not see, or that move other characters: control characters, direction marks,
 * zero-width spaces, fillers, tags, lone variation selectors. Text of agents is shown through one of these functions
 * wherever it could be mistaken for other text: on cards, in titles, on a terminal.
 */
const hidden = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu

/**
 * Makes hidden characters visible: `␛` for Escape, `\u{202e}` for a direction mark. Tabs, line ends and emoji
 * are kept.
 */
export function visible(text: string): string {
  return replaceHidden(text, (code) => {
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return code === 0x7f ? '\u2421' : `\\u{${code.toString(16)}}`
  })
}

/** Removes the hidden characters that `visible` would show. */
export function withoutHidden(text: string): string {
  return replaceHidden(text, () => '')
}

/** The text on one line, without hidden characters. */
export function onOneLine(text: string): string {
  return withoutHidden(text.replaceAll(/\s+/g, ' ')).replaceAll(/ +/g, ' ').trim()
}

function replaceHidden(text: string, shown: (code: number) => string): string {
  return text.replace(hidden, (character, at: number) => {
    const code = character.codePointAt(0) ?? 0
    return code === 0x09 || code === 0x0a || isOfPicture(code, text, at) ? character : shown(code)
  })
}

const picture = /\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}]?\ufe0f?$/u

/** True for a character that joins or varies an emoji: 👩‍💻, ❤️, 1️⃣. */
function isOfPicture(code: number, text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 5), at)
  if (code === 0x200d)
    return picture.test(before) && /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))
  if (code !== 0xfe0e && code !== 0xfe0f) return false
  return text.charAt(at + 1) === '\u20e3' || /\p{Extended_Pictographic}$/u.test(before)
}
