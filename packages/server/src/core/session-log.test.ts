import {
  type Delta,
  type EventDraft,
  ParleyError,
  type PermissionRule,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { createHandClock } from '../testing/hand-clock.ts'
import { heldStore } from '../testing/held-store.ts'
import {
  andThen,
  called,
  connected,
  created,
  running,
  started,
  stateAfter,
  submitted,
} from '../testing/state-after.ts'
import { receiptOf, ruleOf } from '../testing/store-samples.ts'
import type { EncodedItem } from './session-feed.ts'
import { createSessionLog, numbered, type SessionLog } from './session-log.ts'

const pinned: EventDraft = { type: 'session.pinned' }
const noticed: EventDraft = { type: 'agent.noticed', level: 'info', code: 'note', text: 'x' }
const written: EventDraft = { type: 'text.written', turnId: 'trn_1', blockId: 'blk_1', text: 'Hello' }
const turnEnded: EventDraft = {
  type: 'turn.ended',
  turnId: 'trn_1',
  outcome: 'completed',
  stopReason: 'end_turn',
  durationMs: 1,
}
const piece = (offset: number, text: string): Delta => ({
  type: 'text.streamed',
  turnId: 'trn_1',
  blockId: 'blk_1',
  offset,
  text,
})

async function aLog(...drafts: EventDraft[]) {
  const state = stateAfter(...(drafts.length > 0 ? drafts : [created, connected, submitted, started]))
  const held = heldStore()
  const events = Array.from({ length: state.seq }, (_, index) => ({ seq: index + 1, json: '{}' }))
  await held.disk.create({ sessionId: 'ses_1', epoch: 'epo_1', events, state })
  const clock = createHandClock(5_000)
  const announced: {
    events: readonly SessionEvent[]
    state: SessionState
    granted: readonly PermissionRule[]
  }[] = []
  const problems: string[] = []
  const log = createSessionLog({
    store: held.store,
    clock,
    checkpointMs: 1_000,
    state,
    problem: (error, doing) => problems.push(`${doing}: ${(error as Error).message}`),
  })
  log.onRecorded((events, state, granted) => announced.push({ events, state, granted }))
  const received: EncodedItem[] = []
  const ended: string[] = []
  await log.feed.follow(
    { after: state.seq },
    {
      following: () => undefined,
      deliver: (batch) => void received.push(...batch),
      caughtUp: () => undefined,
      ended: (reason) => void ended.push(reason),
    },
  )
  return { ...held, log, clock, state, announced, problems, received, ended }
}

const record = (log: SessionLog, ...drafts: EventDraft[]) => log.transact(() => ({ drafts }))
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('transact', () => {
  it('numbers, dates, stores, announces and returns the events', async () => {
    const { log, announced, clock, received, disk, state } = await aLog()
    const events = await record(log, pinned, noticed)
    expect(events).toEqual([
      { seq: 5, at: 5_000, sessionId: 'ses_1', ...pinned },
      { seq: 6, at: 5_000, sessionId: 'ses_1', ...noticed },
    ])
    expect(log.state).toMatchObject({ seq: 6, pinned: true, updatedAt: 5_000 })
    expect(announced).toEqual([{ events, state: log.state, granted: [] }])
    clock.runSoon()
    expect(received.map((item) => JSON.parse(item.json))).toEqual(events)
    const stored = await disk.read('ses_1', { after: state.seq, limit: 10 })
    expect(stored.map(({ json }) => json)).toEqual(received.map(({ json }) => json))
  })

  it('stores first and announces second', async () => {
    const { log, announced, clock, received, state, hold, release } = await aLog()
    hold()
    const done = record(log, pinned)
    await settled()
    clock.runSoon()
    expect(log.state).toBe(state)
    expect([announced, received]).toEqual([[], []])
    release()
    await done
    clock.runSoon()
    expect(log.state.pinned).toBe(true)
    expect(received).toHaveLength(1)
  })

  it('runs one change at a time, each with the state after the previous one', async () => {
    const { log, hold, release } = await aLog()
    const seen: number[] = []
    const change = (state: SessionState) => {
      seen.push(state.seq)
      return { drafts: [noticed] }
    }
    hold()
    const all = [log.transact(change), log.transact(change), log.transact(change)]
    await settled()
    expect(seen).toEqual([4])
    release()
    const events = await Promise.all(all)
    expect(seen).toEqual([4, 5, 6])
    expect(events.flat().map((event) => event.seq)).toEqual([5, 6, 7])
  })

  it('changes nothing when the store fails, and works the next time', async () => {
    const { log, announced, clock, received, state, failNext, disk } = await aLog()
    failNext(new ParleyError('busy', 'The disk is full.'))
    const failed = record(log, pinned)
    const next = record(log, noticed)
    await expect(failed).rejects.toMatchObject({ code: 'busy' })
    expect(await next).toMatchObject([{ seq: state.seq + 1, type: 'agent.noticed' }])
    clock.runSoon()
    expect(log.state.pinned).toBe(false)
    expect(announced).toHaveLength(1)
    expect(received).toHaveLength(1)
    expect((await disk.load('ses_1'))?.head).toBe(5)
  })

  it('changes nothing when the change is refused, and works the next time', async () => {
    const { log, appended } = await aLog()
    const refused = log.transact(() => {
      throw new ParleyError('conflict', 'No.')
    })
    await expect(refused).rejects.toMatchObject({ code: 'conflict' })
    expect(appended).toEqual([])
    expect(await record(log, pinned)).toHaveLength(1)
  })

  it('writes nothing for a change without drafts', async () => {
    const { log, appended, announced } = await aLog()
    expect(await record(log)).toEqual([])
    expect([appended, announced]).toEqual([[], []])
  })

  it('stores a receipt and rules with the events, in one batch', async () => {
    const { log, appended, announced } = await aLog()
    const rules = [ruleOf('rule_1')]
    await log.transact(() => ({
      drafts: [noticed, noticed],
      rules,
      receipt: (seq) => receiptOf('cmd_1', seq),
    }))
    expect(appended).toMatchObject([{ receipt: { receipt: { seq: 6 } }, rules }])
    expect(appended[0]?.events).toHaveLength(2)
    expect(announced[0]?.granted).toEqual(rules)
  })

  it('stores a receipt even if nothing is recorded: its seq is the head', async () => {
    const { log, disk } = await aLog()
    await log.transact(() => ({ drafts: [], receipt: (seq) => receiptOf('cmd_1', seq) }))
    expect((await disk.receipt('ses_1', 'cmd_1'))?.receipt.seq).toBe(4)
    expect(log.state.seq).toBe(4)
  })
})

describe('the stored state', () => {
  it.each<EventDraft>([
    pinned,
    connected,
    { type: 'agent.disconnected', reason: 'idle' },
    { ...submitted, promptId: 'prm_2' },
    turnEnded,
    { type: 'permission.resolved', requestId: 'req_1', outcome: 'allowed', by: 'person' },
    { type: 'question.resolved', requestId: 'req_1', outcome: 'expired', by: 'timeout' },
  ])('is replaced at a landmark: $type', async (draft) => {
    const { log, appended } = await aLog()
    await record(log, draft)
    expect(appended[0]?.state).toEqual({ ...log.state, openBlocks: [] })
  })

  it.each<EventDraft>([written, noticed, called, { type: 'plan.updated', entries: [] }])(
    'is not changed by $type',
    async (draft) => {
      const { log, appended } = await aLog()
      await record(log, draft)
      expect(appended[0]).not.toHaveProperty('state')
    },
  )

  it('contains open calls, but no streamed text, which is saved by checkpoints', async () => {
    const { log, appended } = await aLog()
    await record(log, called)
    log.stream({
      type: 'tool-call.output-streamed',
      turnId: 'trn_1',
      toolCallId: 'call_1',
      offset: 0,
      text: 'out',
    })
    log.stream(piece(0, 'Hel'))
    await record(log, pinned)
    expect(appended[1]?.state?.openBlocks).toMatchObject([{ id: 'call_1', called: true, output: '' }])
    expect(log.state.openBlocks).toMatchObject([{ output: 'out' }, { text: 'Hel' }])
  })
})

describe('stream', () => {
  it('announces at once and records nothing', async () => {
    const { log, appended, clock, received, state } = await aLog()
    expect(log.stream(piece(0, 'Hel'))).toBeUndefined()
    expect(log.stream(piece(3, 'lo'))).toBeUndefined()
    clock.runSoon()
    expect(received.map((item) => JSON.parse(item.json))).toEqual([piece(0, 'Hel'), piece(3, 'lo')])
    expect(log.state).toMatchObject({ seq: state.seq, openBlocks: [{ text: 'Hello' }] })
    expect(appended).toEqual([])
  })

  it('waits while events are stored, so that no delta is sent between an event and its predecessor', async () => {
    const { log, clock, received, hold, release } = await aLog()
    hold()
    const done = record(log, written)
    await settled()
    const wait = log.stream(piece(0, 'late'))
    clock.runSoon()
    expect(wait).toBeInstanceOf(Promise)
    expect(received).toEqual([])
    expect(log.state.openBlocks).toEqual([])
    release()
    await wait
    await done
    expect(log.stream({ ...piece(0, 'next'), blockId: 'blk_2' } as Delta)).toBeUndefined()
    clock.runSoon()
    expect(received.map((item) => item.kind)).toEqual(['event', 'delta'])
  })

  it('continues after a failed write', async () => {
    const { log, failNext, hold, release } = await aLog()
    hold()
    failNext(new Error('disk'))
    const failed = record(log, noticed)
    await settled()
    const wait = log.stream(piece(0, 'x'))
    release()
    await expect(failed).rejects.toThrow('disk')
    await wait
    expect(log.stream(piece(0, 'x'))).toBeUndefined()
  })

  it('gives a reader that joins the block so far, at offset 0', async () => {
    const { log } = await aLog()
    await record(log, called)
    log.stream(piece(0, 'Hel'))
    log.stream(piece(3, 'lo'))
    log.stream({
      type: 'tool-call.output-streamed',
      turnId: 'trn_1',
      toolCallId: 'call_1',
      offset: 0,
      text: 'out',
    })
    log.stream({
      type: 'tool-call.drafted',
      turnId: 'trn_1',
      toolCallId: 'call_2',
      name: 'Read',
      kind: 'read',
    })
    log.stream({
      type: 'tool-call.input-streamed',
      turnId: 'trn_1',
      toolCallId: 'call_2',
      offset: 0,
      text: '{',
    })
    const items: EncodedItem[] = []
    await log.feed.follow(
      { after: 5 },
      {
        following: () => undefined,
        deliver: (batch) => void items.push(...batch),
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    )
    const joined = andThen(andThen(running, called), ...items.map((item) => JSON.parse(item.json) as Delta))
    expect(items.every((item) => item.kind === 'delta')).toBe(true)
    expect(joined.openBlocks).toEqual(log.state.openBlocks)
  })

  it('passes native messages to readers that asked for them', async () => {
    const { log, clock } = await aLog()
    const received: string[] = []
    await log.feed.follow(
      { after: 4 },
      {
        native: true,
        following: () => undefined,
        deliver: (batch) => void received.push(...batch.map((item) => `${item.kind} ${item.json}`)),
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    )
    log.native({ type: 'raw' })
    log.native(undefined)
    clock.runSoon()
    expect(received).toEqual(['native {"type":"raw"}', 'native null'])
  })
})

describe('checkpoints', () => {
  it('are written once per period, with every block that is open at that time', async () => {
    const { log, clock, checkpoints } = await aLog()
    log.stream(piece(0, 'Hel'))
    clock.advance(999)
    await settled()
    expect(checkpoints).toEqual([])
    log.stream(piece(3, 'lo'))
    clock.advance(1)
    await settled()
    expect(checkpoints).toEqual([['Hello']])
    clock.advance(10_000)
    await settled()
    expect(checkpoints).toHaveLength(1)
    log.stream(piece(5, '!'))
    clock.advance(1_000)
    await settled()
    expect(checkpoints).toEqual([['Hello'], ['Hello!']])
  })

  it('are not scheduled by a delta without effect', async () => {
    const { log, clock } = await aLog()
    log.stream({ type: 'activity.changed', activity: 'active' })
    expect(clock.waiting).toBe(0)
  })

  it('are not written for blocks that were closed in time', async () => {
    const { log, clock, checkpoints } = await aLog()
    log.stream(piece(0, 'Hello'))
    await record(log, written)
    clock.advance(1_000)
    await settled()
    expect(checkpoints).toEqual([])
  })

  it('are not written for a call of which nothing was streamed', async () => {
    const { log, clock, checkpoints } = await aLog()
    log.stream({ type: 'tool-call.drafted', turnId: 'trn_1', toolCallId: 'call_1', name: 'Bash' })
    clock.advance(1_000)
    await settled()
    expect(checkpoints).toEqual([])
  })

  it('are removed exactly once, with the event that closes their block', async () => {
    const { log, clock, appended } = await aLog()
    log.stream(piece(0, 'Hel'))
    clock.advance(1_000)
    await settled()
    await record(log, noticed)
    await record(log, { ...written, text: 'Hel' } as EventDraft)
    await record(log, noticed)
    expect(appended.map((batch) => batch.closedBlocks)).toEqual([undefined, ['blk_1'], undefined])
  })

  it('are all removed when the turn ends', async () => {
    const { log, clock, appended, disk } = await aLog()
    log.stream(piece(0, 'Hel'))
    clock.advance(1_000)
    await settled()
    await record(log, turnEnded)
    expect(appended[0]?.closedBlocks).toEqual(['blk_1'])
    expect(await disk.checkpoints('ses_1')).toEqual([])
  })

  it('that fail are reported, and the next one is still written', async () => {
    const { log, clock, checkpoints, problems, failNext } = await aLog()
    log.stream(piece(0, 'Hel'))
    failNext(new Error('disk'))
    clock.advance(1_000)
    await settled()
    expect(problems).toEqual(['checkpoint open blocks: disk'])
    log.stream(piece(3, 'lo'))
    clock.advance(1_000)
    await settled()
    expect(checkpoints).toEqual([['Hello']])
  })

  it('wait until pending events are stored', async () => {
    const { log, clock, checkpoints, hold, release } = await aLog()
    log.stream(piece(0, 'Hel'))
    hold()
    const done = record(log, written)
    await settled()
    clock.advance(1_000)
    release()
    await done
    await settled()
    expect(checkpoints).toEqual([])
  })
})

describe('close', () => {
  it('waits for the current work, ends the feed and accepts nothing more', async () => {
    const { log, clock, received, ended, hold, release } = await aLog()
    hold()
    const last = record(log, pinned)
    const closing = log.close('closed')
    const tooLate = record(log, noticed)
    await settled()
    expect(log.closed).toBe(false)
    release()
    expect(await last).toHaveLength(1)
    await closing
    await expect(tooLate).rejects.toMatchObject({ code: 'busy' })
    expect(log.closed).toBe(true)
    expect(received).toHaveLength(1)
    expect(ended).toEqual(['closed'])
    expect(log.stream(piece(0, 'x'))).toBeUndefined()
    expect(log.state.openBlocks).toEqual([])
    expect(clock.waiting).toBe(0)
  })

  it('of a deleted session is reported to later callers', async () => {
    const { log, ended } = await aLog()
    await log.close('deleted')
    await expect(record(log, pinned)).rejects.toMatchObject({ code: 'not_found' })
    expect(ended).toEqual(['deleted'])
  })

  it('stops the scheduled checkpoint', async () => {
    const { log, clock, checkpoints } = await aLog()
    log.stream(piece(0, 'Hel'))
    expect(clock.waiting).toBe(1)
    await log.close('closed')
    expect(clock.waiting).toBe(0)
    clock.advance(10_000)
    await settled()
    expect(checkpoints).toEqual([])
  })
})

describe('numbered', () => {
  it('puts the common fields of events first and keeps a version', () => {
    const event = numbered({ ...written, version: 1 } as EventDraft, 'ses_1', 7, 70)
    expect(Object.keys(event)).toEqual([
      'seq',
      'at',
      'sessionId',
      'turnId',
      'type',
      'blockId',
      'text',
      'version',
    ])
  })

  it('has no turnId if the draft has none', () => {
    expect(numbered(pinned, 'ses_1', 7, 70)).not.toHaveProperty('turnId')
  })
})
