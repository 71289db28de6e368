import { withoutHidden } from '@parley/protocol'

/**
 * A piece of output as a terminal shows it, with its colours as class names. All other escape sequences are removed.
 */
type TerminalPiece = { readonly text: string; readonly look: string }

const escapeCharacter = '\u001b'
const sequence = new RegExp(
  [
    // colours and cursor moves, including a sequence cut off at the end of the output
    String.raw`\u001b\[([0-?]*)[ -/]*(?:([@-~])|$)`,
    // titles, links and other string sequences
    String.raw`\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?`,
    String.raw`\u001b[PX^_][^\u001b]*(?:\u001b\\)?`,
    String.raw`\u001b[ -/]*[0-~]`,
  ].join('|'),
  'g',
)

export function terminalPieces(output: string): readonly TerminalPiece[] {
  const text = overwritten(output)
  if (!text.includes(escapeCharacter)) return text === '' ? [] : [{ text: withoutHidden(text), look: '' }]
  const pieces: TerminalPiece[] = []
  let style: Style = plain
  let from = 0
  const push = (until: number) => {
    const shown = withoutHidden(text.slice(from, until))
    if (shown !== '') pieces.push({ text: shown, look: lookOf(style) })
  }
  for (const match of text.matchAll(sequence)) {
    push(match.index)
    from = match.index + match[0].length
    if (match[2] === 'm') style = restyled(style, match[1] ?? '')
  }
  push(text.length)
  return pieces
}

/** Removes the text that carriage returns overwrite: everything in a line before its last carriage return. */
function overwritten(output: string): string {
  const text = output.replace(/\r+\n/g, '\n')
  if (!text.includes('\r')) return text
  return text
    .split('\n')
    .map((line) => line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1).replace(/\r+$/, ''))
    .join('\n')
}

type Style = { readonly bold: boolean; readonly dim: boolean; readonly color: number | undefined }
const plain: Style = { bold: false, dim: false, color: undefined }

function restyled(before: Style, codes: string): Style {
  const numbers = codes === '' ? [0] : codes.split(/[;:]/).map(Number)
  let style = before
  for (let index = 0; index < numbers.length; index++) {
    const code = numbers[index] ?? 0
    if (code === 38 || code === 48) {
      index += numbers[index + 1] === 5 ? 2 : 4
      continue
    }
    if (code === 0) style = plain
    else if (code === 1) style = { ...style, bold: true }
    else if (code === 2) style = { ...style, dim: true }
    else if (code === 22) style = { ...style, bold: false, dim: false }
    else if (code === 39) style = { ...style, color: undefined }
    else if (code >= 30 && code <= 37) style = { ...style, color: code - 30 }
    else if (code >= 90 && code <= 97) style = { ...style, color: code - 90 }
  }
  return style
}

function lookOf({ bold, dim, color }: Style): string {
  return [bold ? 'ansi-bold' : '', dim ? 'ansi-dim' : '', color ? `ansi-${color}` : '']
    .filter(Boolean)
    .join(' ')
}

type Limits = { readonly lines: number; readonly characters: number }

/**
 * The part of a long text that starts a few lines above the first occurrence of `wanted`, which must be in
 * lower case.
 */
export function fromPlaceOf(text: string, wanted: string, { characters }: Limits) {
  const place = text.toLowerCase().indexOf(wanted)
  let start = place
  for (let lines = 0; start > 0 && lines < 4; lines++) start = text.lastIndexOf('\n', start - 1)
  start = Math.max(0, start + 1, place - characters / 2)
  return { shown: text.slice(start, start + characters), left: start }
}

/** The last lines of a long text, and the number of characters before them that are left out. */
export function tailOf(text: string, limits: Limits) {
  let start = Math.max(0, text.length - limits.characters)
  let lines = 0
  for (let at = text.length - (text.endsWith('\n') ? 2 : 1); at >= start; at--) {
    if (text.charCodeAt(at) !== 10) continue
    lines++
    if (lines === limits.lines) start = at + 1
  }
  return { shown: text.slice(start), left: start }
}
