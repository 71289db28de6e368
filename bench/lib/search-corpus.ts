import { applyToState, type EventDraft, emptyState, type SessionEvent } from '@parley/protocol'
import type { SessionStore } from '../../packages/server/src/core/session-store.ts'

/**
 * Sessions whose words are as frequent as those of a natural language: a few words are common, and most are
 * rare.
 */

const vocabularySize = 30_000
const eventsAtOnce = 1_000
const syllables = [
  'ba',
  'co',
  'di',
  'fu',
  'ge',
  'ha',
  'in',
  'jo',
  'ka',
  'lo',
  'mi',
  'nu',
  'or',
  'pe',
  'qui',
  'ra',
  'st',
  'to',
  'un',
  've',
]

/** The word of this rank; rank 0 is the most common. */
export function wordOf(rank: number): string {
  let word = ''
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / syllables.length))
    word += syllables[rest % syllables.length]
  return word
}

export type Corpus = { readonly sessions: number; readonly eventsEach: number }

export async function fill(
  store: Pick<SessionStore, 'create' | 'append'>,
  { sessions, eventsEach }: Corpus,
): Promise<void> {
  const random = randomNumbers(7)
  for (let index = 0; index < sessions; index++) {
    const id = `ses_corpus${String(index).padStart(6, '0')}`
    let state = emptyState(id, `epo_${id}`)
    let batch: SessionEvent[] = []
    for (const draft of drafts(eventsEach, random)) {
      const at = 1_760_000_000_000 + index * 3_600_000 + state.seq * 500
      const event = { seq: state.seq + 1, at, sessionId: id, ...draft } as SessionEvent
      state = applyToState(state, event)
      batch.push(event)
      if (batch.length < eventsAtOnce && state.seq < eventsEach) continue
      const events = batch.map((one) => ({ seq: one.seq, json: JSON.stringify(one) }))
      if (batch[0]?.seq === 1) await store.create({ sessionId: id, epoch: state.epoch, events, state })
      else await store.append({ sessionId: id, events, state })
      batch = []
    }
  }
}

function* drafts(count: number, random: () => number): Generator<EventDraft> {
  yield { type: 'session.created', agent: 'bench', cwd: '/work', title: 'A session', mode: 'ask' }
  for (let made = 1; made < count; made += 8) {
    const turnId = `trn_${made}`
    const promptId = `prm_${made}`
    const toolCallId = `call_${made}`
    const input = { command: `npm test -- ${prose(12, random)}`, description: prose(6, random) }
    yield {
      type: 'prompt.submitted',
      promptId,
      parts: [{ type: 'text', text: prose(30, random) }],
      delivery: 'queue',
    }
    yield { type: 'turn.started', turnId, promptId } as EventDraft
    yield { type: 'text.written', turnId, blockId: `b${made}`, text: prose(150, random) }
    yield {
      type: 'tool-call.called',
      turnId,
      toolCallId,
      name: 'Bash',
      kind: 'execute',
      title: input.command,
      input,
    }
    const output = Array.from({ length: 40 }, () => prose(10, random)).join('\n')
    const content = [{ type: 'terminal' as const, output, exitCode: 0 }]
    yield { type: 'tool-call.ended', turnId, toolCallId, outcome: 'completed', content }
    yield { type: 'text.written', turnId, blockId: `c${made}`, text: prose(120, random) }
    yield { type: 'usage.measured', turnId, model: 'bench', context: { used: made } } as unknown as EventDraft
    yield { type: 'turn.ended', turnId, outcome: 'completed', stopReason: 'end_turn', durationMs: 1 }
  }
}

/** Words whose ranks follow Zipf's law. */
function prose(count: number, random: () => number): string {
  const words: string[] = []
  for (let index = 0; index < count; index++) words.push(wordOf(Math.floor(vocabularySize ** random()) - 1))
  return words.join(' ')
}

/** Returns a pseudo-random generator with the same numbers in each run (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
