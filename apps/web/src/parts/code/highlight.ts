import { workerAddress } from '../../base/trusted-address.ts'
import type { HighlightRequest, TokenLines } from './highlight.worker.ts'
import address from './highlight.worker.ts?worker&url'
import type { Language } from './languages.ts'

const maxCodeLength = 60_000
const maxCached = 200

let worker: Worker | undefined
let nextId = 1
const waiting = new Map<number, (lines: TokenLines | undefined) => void>()
const cache = new Map<string, TokenLines>()

export function highlighted(code: string, language: Language): TokenLines | undefined {
  return cache.get(`${language}\n${code}`)
}

/** Highlights code in a worker. Undefined if the code is too long or cannot be tokenized. */
export async function highlight(code: string, language: Language): Promise<TokenLines | undefined> {
  if (code.length > maxCodeLength) return undefined
  const key = `${language}\n${code}`
  const known = cache.get(key)
  if (known) return known
  const lines = await ask({ code, language })
  if (!lines) return undefined
  cache.set(key, lines)
  if (cache.size > maxCached) cache.delete(cache.keys().next().value ?? '')
  return lines
}

const pieceLength = 10_000
/** The length that the worker highlights in a few seconds. The rest of a longer text stays plain. */
const maxTextLength = 500_000

/**
 * Highlights a long text piece by piece from the top, so that other code does not wait for all of it. `onLines` gets all
 * lines that are highlighted so far.
 */
export async function highlightLines(
  lines: readonly string[],
  language: Language,
  { signal, onLines }: { signal: AbortSignal; onLines: (all: TokenLines) => void },
): Promise<void> {
  const text = nextId++
  let all: TokenLines = []
  for (let sent = 0; all.length < lines.length && sent < maxTextLength; ) {
    const piece = pieceFrom(lines, all.length)
    const code = piece.join('\n')
    const tokens = await ask({ code, language, piece: { of: text, isFirst: all.length === 0 } })
    if (!tokens || signal.aborted) return
    sent += code.length
    all = [...all, ...tokens]
    onLines(all)
  }
}

function pieceFrom(lines: readonly string[], from: number): readonly string[] {
  let length = 0
  let to = from
  while (to < lines.length && (to === from || length < pieceLength)) length += lines[to++]?.length ?? 0
  return lines.slice(from, to)
}

function ask(request: Omit<HighlightRequest, 'id'>): Promise<TokenLines | undefined> {
  worker ??= start()
  const id = nextId++
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    worker?.postMessage({ ...request, id } satisfies HighlightRequest)
  })
}

function start(): Worker {
  const made = new Worker(workerAddress(address), { type: 'module' })
  made.onmessage = ({ data }: MessageEvent<{ id: number; lines: TokenLines | undefined }>) => {
    waiting.get(data.id)?.(data.lines)
    waiting.delete(data.id)
  }
  made.onerror = () => {
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }
  return made
}
