import {
  applyEvents,
  type ExportFormat,
  type ExportProof,
  emptyView,
  ParleyError,
  type SessionEvent,
  type SessionState,
  type SessionView,
  type UnknownEvent,
} from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import type { StoredEvent } from '../../core/session-store.ts'
import { htmlDocument } from '../../transcripts/documents/html-document.ts'
import { markdownDocument } from '../../transcripts/documents/markdown-document.ts'
import { incomingMessagesOf } from '../../transcripts/incoming-messages.ts'
import { runEventsOf } from '../../transcripts/run-events.ts'
import { uiMessagesOf } from '../../transcripts/ui-messages.ts'

export type ExportFile = {
  readonly mediaType: string
  readonly filename: string
  readonly chunks: AsyncIterable<string>
}

const pageSize = 1000
const formats = {
  jsonl: { mediaType: 'application/jsonl', extension: 'jsonl', write: eventLines },
  markdown: { mediaType: 'text/markdown', extension: 'md', write: written(markdownDocument) },
  html: { mediaType: 'text/html', extension: 'html', write: written(htmlDocument) },
  'ui-messages': { ...json('ui-messages'), write: listed(uiMessagesOf) },
  'incoming-messages': { ...json('incoming-messages'), write: listed(incomingMessagesOf) },
  'run-events': { ...json('run-events'), write: listed(runEventsOf) },
} as const

/** A session as a file, up to its last event. Rejects with ParleyError `not_found` if there is no such session. */
export async function exportSession(
  host: Host,
  sessionId: string,
  format: ExportFormat,
  proof?: ProofOf,
): Promise<ExportFile> {
  if (proof && format !== 'jsonl')
    throw new ParleyError('validation_error', 'Only an export as jsonl can have a proof.')
  if (proof) await host.seal(sessionId)
  const state = await host.state(sessionId)
  const { mediaType, extension, write } = formats[format]
  if (proof)
    return {
      mediaType,
      filename: `${safeName(state)}.${extension}`,
      chunks: withProof(pagesOf(host, state), proof),
    }
  return { mediaType, filename: `${safeName(state)}.${extension}`, chunks: write(pagesOf(host, state)) }
}

type Pages = { readonly state: SessionState; readonly pages: AsyncIterable<readonly StoredEvent[]> }

function pagesOf(host: Host, state: SessionState): Pages {
  async function* pages() {
    for (let after = 0; after < state.seq; ) {
      const { events } = await host.read(state.id, { after, limit: Math.min(pageSize, state.seq - after) })
      const last = events.at(-1)
      if (!last) return
      yield events
      after = last.seq
    }
  }
  return { state, pages: pages() }
}

/**
 * Creates the proof for the last line of an export. `deviceKeyIds` are the ids of the keys with which browsers signed
 * its decisions.
 */
export type ProofOf = (sessionId: string, deviceKeyIds: ReadonlySet<string>) => Promise<ExportProof>

async function* withProof({ state, pages }: Pages, proof: ProofOf): AsyncGenerator<string> {
  const keyIds = new Set<string>()
  for await (const events of pages) {
    for (const { json } of events) {
      if (!json.includes('"signature":{')) continue
      const event = JSON.parse(json) as SessionEvent
      if (event.type === 'permission.resolved' || event.type === 'question.resolved')
        if (event.signature) keyIds.add(event.signature.keyId)
    }
    yield events.map((event) => `${event.json}\n`).join('')
  }
  yield `${JSON.stringify(await proof(state.id, keyIds))}\n`
}

async function* eventLines({ pages }: Pages): AsyncGenerator<string> {
  for await (const events of pages) yield events.map((event) => `${event.json}\n`).join('')
}

/**
 * Returns a function that writes a document. It reads the whole timeline first, because a late answer is
 * shown beside its early question.
 */
function written(document: (view: SessionView) => Iterable<string>) {
  return async function* ({ state, pages }: Pages): AsyncGenerator<string> {
    let view = emptyView(state.id, state.epoch)
    for await (const events of pages) {
      view = applyEvents(
        view,
        events.map((event) => JSON.parse(event.json) as SessionEvent | UnknownEvent),
      )
    }
    yield* document(view)
  }
}

function json(name: string) {
  return { mediaType: 'application/json', extension: `${name}.json` }
}

/** Returns a function that writes the transcript for another program as one JSON list. */
function listed(transcript: (events: Iterable<SessionEvent | UnknownEvent>) => readonly unknown[]) {
  return async function* ({ pages }: Pages): AsyncGenerator<string> {
    const all: (SessionEvent | UnknownEvent)[] = []
    for await (const events of pages) for (const { json } of events) all.push(JSON.parse(json))
    yield JSON.stringify(transcript(all))
  }
}

/**
 * The file name of an export. It contains only letters, digits, underscores and dashes, so that it is safe in
 * headers and file systems.
 */
function safeName({ id, title }: SessionState): string {
  const clean = (text: string) => text.replace(/[^A-Za-z0-9_]+/g, '-').replace(/^-+|-+$/g, '')
  return [clean(title).slice(0, 60).toLowerCase(), clean(id)].filter(Boolean).join('-') || 'session'
}
