import {
  applyDeltaToState,
  applyToState,
  type Delta,
  defined,
  type EventDraft,
  type EventOf,
  isKnown,
  type OpenBlock,
  ParleyError,
  type PermissionRule,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { Clock } from './clock.ts'
import type { LedgerDraft } from './ledger-store.ts'
import { readEvents } from './read-events.ts'
import { isSealed, SealChain, type Sealer } from './seal-chain.ts'
import { createSessionFeed, type EncodedItem, type SessionFeed } from './session-feed.ts'
import type { SessionStore, StoredEvent, StoredReceipt } from './session-store.ts'
import { shownEvent } from './shown-secrets.ts'

/** The drafts of one step, which are recorded together or not at all. */
export type Transaction = {
  readonly drafts: readonly EventDraft[]
  readonly rules?: readonly PermissionRule[]
  readonly ledger?: readonly LedgerDraft[]
  /** Called once the events are numbered, with the seq of the last event, or with the head if there are none. */
  readonly receipt?: (seq: number) => StoredReceipt
}

/** `state` is the state after the events; `granted` are the rules that were stored with them. */
export type RecordedListener = (
  events: readonly SessionEvent[],
  state: SessionState,
  granted: readonly PermissionRule[],
) => void

export type SessionLog = {
  readonly sessionId: string
  readonly feed: SessionFeed
  /** The state after the last announced event. */
  readonly state: SessionState
  /**
   * Runs `change` exclusively, with the current state, and records its result: stores first, announces second.
   * Rejects with the error of `change` or of the store; then nothing has been recorded.
   */
  transact(change: (state: SessionState) => Transaction): Promise<SessionEvent[]>
  /** Calls the listener with each batch after it was announced. There is one listener. */
  onRecorded(listener: RecordedListener): void
  /**
   * Announces a live delta. While events are being stored, returns a promise instead; the caller must wait for it and
   * call again.
   */
  stream(delta: Delta): Promise<void> | undefined
  native(message: unknown): void
  /** Seals the events after the last seal, if there are any. Does nothing if logs have no seals. */
  sealRest(): Promise<void>
  /** True while something waits to be recorded. */
  readonly busy: boolean
  /** True once nothing can be recorded any more. */
  readonly closed: boolean
  /** Waits for the current work, then refuses all further changes. */
  seal(reason: 'deleted' | 'closed'): Promise<void>
  /** Ends the log at once: a write that is pending may still be stored, but nothing is announced. */
  abandon(): void
  /** Like `seal`, but also ends the feed. */
  close(reason: 'deleted' | 'closed'): Promise<void>
}

export type SessionLogOptions = {
  readonly store: SessionStore
  readonly clock: Clock
  readonly checkpointMs: number
  readonly state: SessionState
  /** Without it, the log has no seals. */
  readonly sealer?: Sealer | undefined
  /** The deltas that a reader gets when it joins, in addition to the open blocks. */
  readonly joining?: (state: SessionState) => Delta[]
  readonly problem: (error: unknown, doing: string) => void
}

/**
 * Matches the events after which the stored state is replaced: lists, the inbox and restarts read that state.
 */
const landmarks =
  /^(session|worktree|agent\.(dis)?connected|prompt|queue|turn|permission|question|restore|snapshot|check|attempt)/

/** Creates the log of a live session, which numbers the events that it records. */
export function createSessionLog(options: SessionLogOptions): SessionLog {
  const { store, clock, problem, sealer, joining = () => [] } = options
  let recorded: RecordedListener = () => undefined
  let state = options.state
  const { id: sessionId, epoch } = state
  let tail: Promise<unknown> = Promise.resolve()
  let storing = false
  let isSealDue = false
  let waiting = 0
  let closed: 'deleted' | 'closed' | undefined
  let stopCheckpoint: (() => void) | undefined
  const chain = sealer && new SealChain(sealer, store, state)
  const checkpointed = new Set(state.openBlocks.map((block) => block.id))

  const feed = createSessionFeed({
    sessionId,
    epoch,
    head: () => state.seq,
    openBlocks: () => [...joining(state).map(deltaItem), ...openBlockItems(state)],
    soon: clock.soon,
    problem: (error) => problem(error, 'notify a reader'),
    read: (id, range) => readEvents(store, id, range),
  })

  async function record(change: (state: SessionState) => Transaction): Promise<SessionEvent[]> {
    if (closed) throw goneError(closed)
    const { drafts, rules, receipt, ledger = [] } = change(state)
    const at = clock.now()
    const events = drafts.map((draft, index) => numbered(draft, sessionId, state.seq + 1 + index, at))
    const caused = events.reduce(applyToState, state)
    const stored = events.map((event): StoredEvent => ({ seq: event.seq, json: JSON.stringify(event) }))
    const isDue = chain !== undefined && (isSealed(events) || (isSealDue && state.sealed?.seq !== state.seq))
    isSealDue = false
    if (stored.length === 0 && !receipt && !isDue) return []
    const closedBlocks = caused.turn
      ? [...checkpointed].filter((id) => !isOpen(caused, id))
      : [...checkpointed]
    storing = true
    let seal: EventOf<'log.sealed'> | undefined
    try {
      if (chain && isDue) {
        const sealed = await chain.sealAfter(state.seq, stored, at)
        seal = JSON.parse(sealed.json) as EventOf<'log.sealed'>
        stored.push(sealed)
      }
      await store.append({
        sessionId,
        events: stored,
        ...((seal || events.some((event) => landmarks.test(event.type))) && {
          state: storable(seal ? applyToState(caused, seal) : caused),
        }),
        ...(receipt && { receipt: receipt(caused.seq) }),
        ...(rules && { rules }),
        ...(closedBlocks.length > 0 && { closedBlocks }),
        ...((seal || ledger.length > 0) && { ledger: [...ledger, ...(seal ? [sealedEntry(seal)] : [])] }),
      })
    } finally {
      storing = false
    }
    if (closed) throw goneError(closed)
    for (const id of closedBlocks) checkpointed.delete(id)
    state = seal ? applyToState(caused, seal) : caused
    const shown = stored.map(shownEvent)
    for (const { seq, json } of shown) feed.publish({ kind: 'event', seq, json })
    chain?.add(shown, seal)
    try {
      recorded(seal ? [...events, seal] : events, state, rules ?? [])
    } catch (error) {
      problem(error, 'react to recorded events')
    }
    return events
  }

  async function seal(reason: 'deleted' | 'closed') {
    await tail
    closed ??= reason
    stopCheckpoint?.()
  }

  function scheduleCheckpoint() {
    const call = () => {
      stopCheckpoint = undefined
      tail = tail.then(checkpoint)
    }
    stopCheckpoint ??= clock.after(options.checkpointMs, call, { background: true })
  }

  async function checkpoint() {
    const blocks = state.openBlocks.filter(
      (block) => block.type !== 'tool-call' || block.input || block.output,
    )
    if (closed || blocks.length === 0) return
    try {
      await store.checkpoint(sessionId, blocks)
      for (const block of blocks) checkpointed.add(block.id)
    } catch (error) {
      problem(error, 'checkpoint open blocks')
    }
  }

  return {
    sessionId,
    feed,
    get state() {
      return state
    },
    get busy() {
      return waiting > 0
    },
    get closed() {
      return closed !== undefined
    },
    transact(change) {
      waiting++
      const done = tail.then(() => record(change)).finally(() => waiting--)
      tail = done.catch(() => undefined)
      return done
    },
    onRecorded(listener) {
      recorded = listener
    },
    stream(delta) {
      if (storing) return tail as Promise<void>
      if (closed) return
      const next = applyDeltaToState(state, delta)
      if (next !== state) {
        state = next
        scheduleCheckpoint()
      }
      if (feed.hasReaders) feed.publish(deltaItem(delta))
    },
    native(message) {
      if (feed.hasNativeReaders) feed.publish({ kind: 'native', json: textOf(message) })
    },
    async sealRest() {
      if (!chain || state.sealed?.seq === state.seq) return
      isSealDue = true
      await this.transact(() => ({ drafts: [] }))
    },
    seal,
    abandon() {
      closed ??= 'closed'
      stopCheckpoint?.()
      feed.end('closed')
    },
    async close(reason) {
      await seal(reason)
      feed.end(reason)
    },
  }
}

function sealedEntry({ at, sessionId, to, hash }: EventOf<'log.sealed'>): LedgerDraft {
  return { at, kind: 'session.sealed', subject: sessionId, data: { to, hash } }
}

/**
 * Converts a draft to an event. Used by the log, and for the first events of a session, which are written before its
 * log exists.
 */
export function numbered(
  draft: EventDraft,
  sessionId: string,
  seq: number,
  at: number,
  salt?: string,
): SessionEvent {
  const { turnId, type, ...fields } = draft
  const given = { ...(salt !== undefined && { salt }), ...(turnId !== undefined && { turnId }) }
  return { seq, at, sessionId, ...given, type, ...fields } as SessionEvent
}

function isOpen(state: SessionState, id: string): boolean {
  return state.openBlocks.some((block) => block.id === id)
}

/** The state as it is stored: without streamed text, which checkpoints save. */
function storable(state: SessionState): SessionState {
  const openBlocks = state.openBlocks.flatMap((block) =>
    block.type === 'tool-call' && block.called ? [{ ...block, input: '', output: '' }] : [],
  )
  return { ...state, openBlocks }
}

/** A native message as JSON text, or an object with the reason why the message cannot be serialised. */
function textOf(message: unknown): string {
  try {
    return JSON.stringify(message) ?? 'null'
  } catch (error) {
    return JSON.stringify({ unserialisable: String(error) })
  }
}

function deltaItem(delta: Delta): EncodedItem {
  return { kind: 'delta', json: JSON.stringify(delta) }
}

/** The streamed part of each open block, as deltas at offset 0. */
export function openBlockItems(state: SessionState): EncodedItem[] {
  return state.openBlocks.flatMap(openBlockDeltas).map(deltaItem)
}

function openBlockDeltas(block: OpenBlock): Delta[] {
  const common = {
    ...defined({ turnId: block.turnId, parentToolCallId: block.parentToolCallId }),
  }
  if (block.type !== 'tool-call') {
    return [{ type: `${block.type}.streamed`, blockId: block.id, offset: 0, text: block.text, ...common }]
  }
  const { id: toolCallId, name, kind, title } = block
  const piece = { ...(block.turnId && { turnId: block.turnId }), toolCallId, offset: 0 }
  const deltas: Delta[] = []
  if (!block.called) {
    deltas.push({
      type: 'tool-call.drafted',
      toolCallId,
      name,
      ...defined({ kind, title }),
      ...common,
    })
  }
  if (block.input) deltas.push({ type: 'tool-call.input-streamed', ...piece, text: block.input })
  if (block.output) deltas.push({ type: 'tool-call.output-streamed', ...piece, text: block.output })
  return deltas
}

function goneError(reason: 'deleted' | 'closed'): ParleyError {
  if (reason === 'deleted') return new ParleyError('not_found', 'This session was deleted.')
  const message = 'Parley is stopping. Try again when it is back.'
  return new ParleyError('busy', message, { details: { stopping: true } })
}

/** The state of a stored session at its head: the stored state, the events after it, and its checkpoints. */
export async function loadState(store: SessionStore, sessionId: string): Promise<SessionState> {
  const record = await store.load(sessionId)
  if (!record) {
    throw new ParleyError(
      'not_found',
      `There is no session ${sessionId}. List the sessions to see their ids.`,
    )
  }
  let state: SessionState = { ...record.state, epoch: record.epoch }
  while (state.seq < record.head) {
    const page = await readEvents(store, sessionId, { after: state.seq, limit: 1000 })
    if (page.length === 0) break
    for (const { json } of page) state = withEvent(state, json)
  }
  if (!state.turn) return state
  return { ...state, openBlocks: withCheckpoints(state.openBlocks, await store.checkpoints(sessionId)) }
}

/** The state after an event, which may be of a type that this version does not know. */
export function withEvent(state: SessionState, json: string): SessionState {
  const event = JSON.parse(json) as SessionEvent | UnknownEvent
  return isKnown(event) ? applyToState(state, event) : { ...state, seq: event.seq, updatedAt: event.at }
}

function withCheckpoints(open: readonly OpenBlock[], saved: readonly OpenBlock[]): OpenBlock[] {
  const merged = open.map((block) => {
    const text = saved.find((other) => other.id === block.id)
    return block.type === 'tool-call' && text?.type === 'tool-call'
      ? { ...block, output: text.output }
      : block
  })
  const fresh = saved.filter((block) => !open.some((other) => other.id === block.id))
  return [...merged, ...fresh]
}
