import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

export type JsonLinesReader = {
  /** Stops reading: the writer blocks once the pipe is full. Data that was already read is still delivered. */
  pause(): void
  resume(): void
}

export type JsonLinesEvents = {
  message(value: unknown): void
  /** Called with a line that is not JSON, or with the start of a line that is too long. */
  garbage(line: string): void
  end(): void
}

const longestLine = 128 * 1024 * 1024
const shownOfGarbage = 1_000

/**
 * Reads one JSON value per line. node:readline is not used, because it also breaks lines at characters that may occur
 * inside a JSON string. The last line needs no line break.
 */
export function readJsonLines(
  input: Readable,
  on: JsonLinesEvents,
  { longest = longestLine }: { longest?: number } = {},
): JsonLinesReader {
  const decoder = new StringDecoder('utf8')
  let pieces: string[] = []
  let length = 0
  let tooLong = false

  const takeLine = () => {
    const line = pieces.join('')
    const dropped = tooLong
    pieces = []
    length = 0
    tooLong = false
    if (!dropped && line.trim() !== '') give(line, on)
  }
  const keep = (piece: string) => {
    length += piece.length
    if (!tooLong) pieces.push(piece)
    if (length <= longest || tooLong) return
    tooLong = true
    on.garbage(pieces.join('').slice(0, shownOfGarbage))
    pieces = []
  }
  const take = (text: string) => {
    let from = 0
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      keep(text.slice(from, at))
      takeLine()
      from = at + 1
    }
    if (from < text.length) keep(text.slice(from))
  }
  let ended = false
  const end = () => {
    if (ended) return
    ended = true
    take(decoder.end())
    takeLine()
    on.end()
  }

  input.on('data', (chunk: Buffer | string) => take(typeof chunk === 'string' ? chunk : decoder.write(chunk)))
  input.on('end', end)
  input.on('close', end)
  input.on('error', end)
  return { pause: () => input.pause(), resume: () => input.resume() }
}

function give(line: string, on: JsonLinesEvents): void {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    on.garbage(line.slice(0, shownOfGarbage))
    return
  }
  on.message(value)
}
