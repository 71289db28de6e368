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
import { median } from './stats.ts'

/** Appends events to a log in a SQLite file, with seals or without. */
const { folder } = given<{ folder: string }>()
mkdirSync(folder, { recursive: true })
const sealer = openSealer(join(folder, 'seal-key.pem'))
const eventsATurn = 50
/** The events of a turn, with its prompt, its start and its end. */
const recordedATurn = eventsATurn + 3
const sessionId = 'ses_bench'
let files = 0

type OpenLog = Awaited<ReturnType<typeof openLog>>

async function openLog(isSealed: boolean) {
  const file = join(folder, `${++files}.sqlite`)
  const store = openSqliteStore({ file })
  const created = { seq: 1, at: 1, sessionId, type: 'session.created', agent: 'bench', cwd: '/', mode: 'ask' }
  const first = {
    ...created,
    salt: isSealed ? sealer.seed().slice(0, 16) : undefined,
  } as unknown as SessionEvent
  const state = applyToState(emptyState(sessionId, 'epo'), first)
  await store.create({ sessionId, epoch: 'epo', events: [{ seq: 1, json: JSON.stringify(first) }], state })
  const log = createSessionLog({
    ...{ store, clock: systemClock, checkpointMs: 1000, state, sealer: isSealed ? sealer : undefined },
    problem: (error) => {
      throw error
    },
  })
  return { store, file, log, count: 0 }
}

/** One turn, whose events are recorded one at a time. Ends with a seal, if the log has seals. */
async function recordTurn(open: OpenLog, size: number): Promise<void> {
  const append = (...drafts: EventDraft[]) => open.log.transact(() => ({ drafts }))
  const turnId = `trn_${open.count}`
  const promptId = `prm_${open.count}`
  await append(
    { type: 'prompt.submitted', promptId, parts: [{ type: 'text', text: 'Go on.' }], delivery: 'queue' },
    { type: 'turn.started', turnId, promptId },
  )
  for (let index = 0; index < eventsATurn; index++) {
    const count = open.count++
    await append({ type: 'text.written', turnId, blockId: `b${count}`, text: textOf(size, count) })
  }
  await append({ type: 'turn.ended', turnId, outcome: 'completed', stopReason: 'end_turn', durationMs: 1 })
}

/**
 * A text that makes an event of about `size` bytes, varied from half to one and a half times that size. With events of
 * equal size, the size of the file would depend on the number of events that fit into a page.
 */
function textOf(size: number, count: number): string {
  const length = size * (0.5 + ((count * 7919) % 1009) / 1009) - 130
  return `${count} `.padEnd(Math.max(Math.round(length), 10), 'some words that an agent wrote ')
}

let current: OpenLog | undefined

async function closeLog(): Promise<number> {
  if (!current) return 0
  const { store, file } = current
  current = undefined
  await store.close()
  const bytes = statSync(file).size
  rmSync(file)
  return bytes
}

const calls = {
  async open({ isSealed }: { isSealed: boolean }) {
    await closeLog()
    current = await openLog(isSealed)
  },
  /** Microseconds for each event: the median of the turns, and the mean processor time of this thread. */
  async append({ turns, size }: { turns: number; size: number }) {
    const times: number[] = []
    const before = process.threadCpuUsage()
    for (let turn = 0; turn < turns; turn++) {
      const start = performance.now()
      await recordTurn(current!, size)
      times.push(performance.now() - start)
    }
    const used = process.threadCpuUsage(before)
    return {
      us: (median(times) * 1000) / recordedATurn,
      cpuUs: (used.user + used.system) / turns / recordedATurn,
    }
  },
  /** Closes the log. Returns the size of its file in bytes. */
  close: closeLog,
  /** Milliseconds to verify the export of a log, and to read the same lines as JSON. */
  async verify({ events, size }: { events: number; size: number }) {
    const open = await openLog(true)
    while (open.log.state.seq < events) await recordTurn(open, size)
    const lines = (await open.store.read(sessionId, { limit: events })).map(({ json }) => json)
    await open.store.close()
    rmSync(open.file)
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

answer(calls, closeLog)
