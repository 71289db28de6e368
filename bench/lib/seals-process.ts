import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  applyToState,
  type EventDraft,
  emptyState,
  type SessionEvent,
} from '../../packages/protocol/src/index.ts'
import { createSessionLog } from '../../packages/server/src/core/session-log.ts'
import { keysOf } from '../../packages/server/src/proof/keys.ts'
import { openSealer } from '../../packages/server/src/proof/seal-key.ts'
import { verifyLog } from '../../packages/server/src/proof/verify-log.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { systemClock } from '../../packages/server/src/system-clock.ts'
import { answer, given } from './processes.ts'

/** Appends the same events to two SQLite files, with seals and without. */
const { folder } = given<{ folder: string }>()
mkdirSync(folder, { recursive: true })
const sealer = openSealer(join(folder, 'seal-key.pem'))
const eventsATurn = 50
let files = 0

async function filledLog(events: number, size: number, isSealed: boolean) {
  const file = join(folder, `${++files}.sqlite`)
  const store = openSqliteStore({ file })
  const id = `ses_bench${files}`
  const created = {
    seq: 1,
    at: 1,
    sessionId: id,
    type: 'session.created',
    agent: 'bench',
    cwd: '/',
    mode: 'ask',
  }
  const first = { ...created, salt: isSealed ? sealer.salt() : undefined } as unknown as SessionEvent
  const state = applyToState(emptyState(id, 'epo'), first)
  await store.create({
    sessionId: id,
    epoch: 'epo',
    events: [{ seq: 1, json: JSON.stringify(first) }],
    state,
  })
  const log = createSessionLog({
    ...{ store, clock: systemClock, checkpointMs: 1000, state, sealer: isSealed ? sealer : undefined },
    problem: (error) => {
      throw error
    },
  })
  const append = (...drafts: EventDraft[]) => log.transact(() => ({ drafts }))
  const start = performance.now()
  for (let count = 0; count < events; ) {
    const turnId = `trn_${count}`
    await append(
      {
        type: 'prompt.submitted',
        promptId: `prm_${count}`,
        parts: [{ type: 'text', text: 'Go on.' }],
        delivery: 'queue',
      },
      { type: 'turn.started', turnId, promptId: `prm_${count}` },
    )
    for (let index = 0; index < eventsATurn; index++, count++)
      await append({ type: 'text.written', turnId, blockId: `b${count}`, text: textOf(size, count) })
    await append({ type: 'turn.ended', turnId, outcome: 'completed', stopReason: 'end_turn', durationMs: 1 })
  }
  const ms = performance.now() - start
  return { store, file, id, ms, events: log.state.seq }
}

/** A text that makes an event of about `size` bytes. */
function textOf(size: number, count: number): string {
  return `${count} `.padEnd(Math.max(size - 170, 10), 'some words that an agent wrote ')
}

const calls = {
  /** Microseconds for each appended event, and the bytes of the file. */
  async append({ events, size, isSealed }: { events: number; size: number; isSealed: boolean }) {
    const { store, file, ms } = await filledLog(events, size, isSealed)
    await store.close()
    const bytes = statSync(file).size
    rmSync(file)
    return { us: (ms / events) * 1000, bytes }
  },
  /** Milliseconds to verify the export of a log, and to read the same lines as JSON. */
  async verify({ events, size }: { events: number; size: number }) {
    const { store, file, id, events: head } = await filledLog(events, size, true)
    const lines = (await store.read(id, { limit: head })).map(({ json }) => json).slice(0, events)
    await store.close()
    rmSync(file)
    const keys = keysOf([sealer.publicKey])
    const start = performance.now()
    const { findings, events: verified } = verifyLog(lines, keys)
    const ms = performance.now() - start
    if (findings.length > 0 || verified !== events) throw new Error('The log was not verified.')
    const again = performance.now()
    for (const line of lines) JSON.parse(line)
    return { ms, parseMs: performance.now() - again }
  },
}
export type SealsCalls = typeof calls

answer(calls, async () => undefined)
