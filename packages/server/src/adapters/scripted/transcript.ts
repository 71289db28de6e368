import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { asksPerson, innerSteps, type Script, type Step, stepPath } from './script.ts'

/**
 * What the scripted agent remembers of a conversation, as a real agent does in its files: the prompts that it received,
 * the requests that it made, and which of them were answered. An entry is written synchronously, so that a kill loses
 * nothing.
 */
export type Transcript = {
  load(agentSessionId: string): readonly TranscriptEntry[]
  append(agentSessionId: string, entry: TranscriptEntry): void
}

/** `path` is the path of the step that asked, within its script. */
export type TranscriptEntry =
  | { readonly type: 'prompt'; readonly promptId: string; readonly text: string }
  | { readonly type: 'asked' | 'answered'; readonly promptId: string; readonly path: string }

/** A transcript in memory, lost when the process ends. */
export function memoryTranscript(): Transcript {
  const kept = new Map<string, TranscriptEntry[]>()
  return {
    load: (agentSessionId) => [...(kept.get(agentSessionId) ?? [])],
    append(agentSessionId, entry) {
      const entries = kept.get(agentSessionId)
      if (entries) entries.push(entry)
      else kept.set(agentSessionId, [entry])
    },
  }
}

/** A copy of a transcript. Entries that are appended to the copy are kept in memory, and do not change the original. */
export function temporaryCopy(original: Transcript): Transcript {
  const { load, append } = memoryTranscript()
  return { load: (id) => [...original.load(id), ...load(id)], append }
}

/** One file of JSON lines per conversation under `folder`. */
export function fileTranscript(folder: string): Transcript {
  mkdirSync(folder, { recursive: true })
  const file = (agentSessionId: string) => join(folder, `${encodeURIComponent(agentSessionId)}.jsonl`)
  return {
    load: (agentSessionId) => readEntries(file(agentSessionId)),
    append: (agentSessionId, entry) => appendFileSync(file(agentSessionId), `${JSON.stringify(entry)}\n`),
  }
}

/** Ignores a last line that was cut off by a kill. */
function readEntries(path: string): TranscriptEntry[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as TranscriptEntry)
}

/** The entries before the first of these prompts; all entries if no prompts are given. A lost transcript stays empty. */
export function entriesBefore(
  entries: readonly TranscriptEntry[],
  prompts: readonly string[] | undefined,
): readonly TranscriptEntry[] {
  if (!prompts || entries.length === 0) return entries
  const end = entries.findIndex(({ type, promptId }) => type === 'prompt' && prompts.includes(promptId))
  if (end >= 0) return entries.slice(0, end)
  throw new ParleyError('agent_failed', 'The conversation does not contain the prompt to fork before.')
}

export function answeredPaths(entries: readonly TranscriptEntry[], promptId: string): ReadonlySet<string> {
  const paths = new Set<string>()
  for (const entry of entries) {
    if (entry.type === 'answered' && entry.promptId === promptId) paths.add(entry.path)
  }
  return paths
}

export function promptsBefore(entries: readonly TranscriptEntry[], promptId: string): string[] {
  const words: string[] = []
  for (const entry of entries) {
    if (entry.type !== 'prompt') continue
    if (entry.promptId === promptId) break
    words.push(entry.text)
  }
  return words
}

/**
 * The index at which a parked script resumes: its first step with an unanswered request; if there is none, the step
 * after the last answered one. With an empty transcript this is the first request, so earlier texts are not repeated.
 */
export function resumeIndex(script: Script, outer: string, answered: ReadonlySet<string>): number {
  const open = script.findIndex((step, index) => isUnanswered(step, stepPath(outer, index), answered))
  if (open >= 0) return open
  return script.findLastIndex((step, index) => requestPaths(step, stepPath(outer, index)).length > 0) + 1
}

export function isUnanswered(step: Step, path: string, answered: ReadonlySet<string>): boolean {
  return requestPaths(step, path).some((request) => !answered.has(request))
}

function requestPaths(step: Step, path: string): string[] {
  if (asksPerson(step)) return [path]
  return innerSteps(step).flatMap((inner, index) => requestPaths(inner, stepPath(path, index)))
}
