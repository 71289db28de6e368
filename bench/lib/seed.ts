import { join } from 'node:path'
import { applyToState, type EventDraft, emptyState, type SessionEvent } from '@parley/protocol'
import type { SessionStore } from '../../packages/server/src/core/session-store.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { text } from './words.ts'

export type SeededSession = { readonly id: string; readonly events: number }

/**
 * Stores sessions of ordinary turns, with the same rows as the log writes, but with many events per
 * transaction.
 */
export async function seed(dataDir: string, sessions: readonly SeededSession[], cwd: string): Promise<void> {
  const store = openSqliteStore({ file: join(dataDir, 'parley.sqlite') })
  try {
    for (const session of sessions) await seedSession(store, session, cwd)
  } finally {
    await store.close()
  }
}

export async function seedSession(
  store: Pick<SessionStore, 'create' | 'append'>,
  { id, events }: SeededSession,
  cwd: string,
): Promise<void> {
  let state = emptyState(id, `epo_${id}`)
  let batch: SessionEvent[] = []
  for (const draft of drafts(id, events, cwd)) {
    const at = 1_760_000_000_000 + state.seq
    const event = { seq: state.seq + 1, at, sessionId: id, ...draft } as SessionEvent
    state = applyToState(state, event)
    batch.push(event)
    if (batch.length < 1_000 && state.seq < events) continue
    const stored = batch.map((one) => ({ seq: one.seq, json: JSON.stringify(one) }))
    const first = batch[0]!.seq === 1
    batch = []
    if (first) await store.create({ sessionId: id, epoch: state.epoch, events: stored, state })
    else await store.append({ sessionId: id, events: stored, state })
  }
}

/**
 * Yields `count` events: the creation of the session, then turns, each with a prompt, some texts, some tool
 * calls and an end. The last turn is shorter, so that the number is exact.
 */
function* drafts(id: string, count: number, cwd: string): Generator<EventDraft> {
  yield { type: 'session.created', agent: 'bench', cwd, title: `Session ${id}`, mode: 'ask' }
  for (let made = 1; made < count; ) {
    for (const draft of turn(`${id}.${made}`, Math.min(count - made, 40))) {
      yield draft
      made++
    }
  }
}

function* turn(name: string, size: number): Generator<EventDraft> {
  const turnId = `trn_${name}`
  const promptId = `prm_${name}`
  if (size < 3) {
    for (let index = 0; index < size; index++) {
      yield { type: 'agent.noticed', level: 'info', code: 'bench', text: 'padding' }
    }
    return
  }
  yield {
    type: 'prompt.submitted',
    promptId,
    parts: [{ type: 'text', text: text(1, 80) }],
    delivery: 'queue',
  }
  yield { type: 'turn.started', turnId, promptId }
  for (let index = 0; index < size - 3; index++) {
    const toolCallId = `call_${name}.${index - (index % 3)}`
    const hasRoom = index - (index % 3) + 3 <= size - 3
    if (index % 3 === 0 || !hasRoom) {
      yield { type: 'text.written', turnId, blockId: `blk_${name}.${index}`, text: text(index, 120) }
    } else if (index % 3 === 1) {
      const input = { path: `src/part-${index}.ts` }
      yield { type: 'tool-call.called', turnId, toolCallId, name: 'Read', kind: 'read', title: 'Read', input }
    } else {
      const content = [{ type: 'text' as const, text: text(index, 100) }]
      yield { type: 'tool-call.ended', turnId, toolCallId, outcome: 'completed', content }
    }
  }
  yield { type: 'turn.ended', turnId, outcome: 'completed', stopReason: 'end_turn', durationMs: 1 }
}
