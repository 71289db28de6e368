import type { EventDraft } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../stores/memory.ts'
import { called, connected, created, started, stateAfter, submitted } from '../testing/state-after.ts'
import { loadState, numbered } from './session-log.ts'

const noticed: EventDraft = { type: 'agent.noticed', level: 'info', code: 'note', text: 'x' }

describe('loadState', () => {
  /** A store with this log, and with the state after the first `stateAt` events. */
  async function stored(drafts: readonly (EventDraft | { type: string })[], stateAt: number) {
    const store = createMemoryStore()
    const events = drafts.map((draft, index) =>
      numbered(draft as EventDraft, 'ses_1', index + 1, 101 + index),
    )
    await store.create({
      sessionId: 'ses_1',
      epoch: 'epo_1',
      events: events.map((event) => ({ seq: event.seq, json: JSON.stringify(event) })),
      state: stateAfter(...(drafts.slice(0, stateAt) as EventDraft[])),
    })
    return store
  }
  const drafts = [created, connected, submitted, started, called, noticed]

  it('is the fold of the log, however old the stored state is', async () => {
    for (const stateAt of [0, 1, 4, 6]) {
      expect(await loadState(await stored(drafts, stateAt), 'ses_1')).toEqual(stateAfter(...drafts))
    }
  })

  it('includes the open blocks of the checkpoints', async () => {
    const store = await stored(drafts, 4)
    await store.checkpoint('ses_1', [
      { type: 'tool-call', id: 'call_1', name: 'Bash', called: false, input: '{', output: 'out' },
      { type: 'text', id: 'blk_1', turnId: 'trn_1', text: 'Hel' },
    ])
    expect((await loadState(store, 'ses_1')).openBlocks).toMatchObject([
      { id: 'call_1', called: true, title: 'ls', input: '', output: 'out' },
      { id: 'blk_1', text: 'Hel' },
    ])
  })

  it('continues after an event of an unknown type, as every reader does', async () => {
    const state = await loadState(await stored([...drafts, { type: 'weather.changed' }], 4), 'ses_1')
    expect(state).toMatchObject({ seq: 7, updatedAt: 107 })
  })

  it('is refused for an unknown session', async () => {
    await expect(loadState(createMemoryStore(), 'ses_9')).rejects.toMatchObject({ code: 'not_found' })
  })
})
