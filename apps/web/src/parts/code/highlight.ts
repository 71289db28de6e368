import { workerAddress } from '../../base/trusted-address.ts'
import address from './highlight.worker.ts?worker&url'
import type { Language } from './languages.ts'

/** Lines of tokens: the text and the name of its token kind. */
export type Lines = (readonly [content: string, kind: string])[][]
export type Wanted = { readonly id: number; readonly code: string; readonly language: Language }

const longest = 60_000
const mostKept = 200

let worker: Worker | undefined
let nextId = 1
const waiting = new Map<number, (lines: Lines | undefined) => void>()
const kept = new Map<string, Lines>()

export function highlighted(code: string, language: Language): Lines | undefined {
  return kept.get(`${language}\n${code}`)
}

/** Highlights code in a worker. Undefined if the code is too long or cannot be tokenized. */
export async function highlight(code: string, language: Language): Promise<Lines | undefined> {
  if (code.length > longest) return undefined
  const key = `${language}\n${code}`
  const known = kept.get(key)
  if (known) return known
  const lines = await ask(code, language)
  if (!lines) return undefined
  kept.set(key, lines)
  if (kept.size > mostKept) kept.delete(kept.keys().next().value ?? '')
  return lines
}

function ask(code: string, language: Language): Promise<Lines | undefined> {
  worker ??= start()
  const id = nextId++
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    worker?.postMessage({ id, code, language } satisfies Wanted)
  })
}

function start(): Worker {
  const made = new Worker(workerAddress(address), { type: 'module' })
  made.onmessage = ({ data }: MessageEvent<{ id: number; lines: Lines | undefined }>) => {
    waiting.get(data.id)?.(data.lines)
    waiting.delete(data.id)
  }
  made.onerror = () => {
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }
  return made
}
