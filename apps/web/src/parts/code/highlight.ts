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
  const lines = await ask(code, language)
  if (!lines) return undefined
  cache.set(key, lines)
  if (cache.size > maxCached) cache.delete(cache.keys().next().value ?? '')
  return lines
}

function ask(code: string, language: Language): Promise<TokenLines | undefined> {
  worker ??= start()
  const id = nextId++
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    worker?.postMessage({ id, code, language } satisfies HighlightRequest)
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
