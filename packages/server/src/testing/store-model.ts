import { type OpenBlock, type SessionState, summarise } from '@parley/protocol'
import type { Arbitrary } from 'fast-check'
import type { SessionStore, StoredEvent, StoredReceipt } from '../core/session-store.ts'
import { expect, fc } from './peers.ts'
import { callBlock, openTurn, receiptOf, stateOf, textBlock } from './store-samples.ts'

/** Random operations on a few sessions, and a simple model of what a store must contain afterwards. */
export type StoreOperation =
  | { type: 'create' | 'delete' | 'reopen'; session: string }
  | {
      type: 'append'
      session: string
      texts: string[]
      skip: number
      state?: Partial<SessionState>
      commandId?: string
      closes: string[]
    }
  | { type: 'checkpoint'; session: string; blocks: OpenBlock[] }

type ModelSession = {
  events: StoredEvent[]
  state: SessionState
  receipts: Map<string, StoredReceipt>
  blocks: Map<string, OpenBlock>
}

const sessionIds = ['a', 'b', 'c']
const blockIds = ['b1', 'b2']
const commandIds = ['c1', 'c2', 'c3', 'c4']

export function storeOperations(): Arbitrary<StoreOperation[]> {
  const session = fc.constantFrom(...sessionIds)
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '"', '\n', '\0', 'é', '\ud83d', '\ude80'),
    maxLength: 8,
  })
  const block = fc.oneof(
    fc.tuple(fc.constantFrom(...blockIds), text).map(([id, value]) => textBlock(id, value)),
    fc
      .tuple(fc.constantFrom(...blockIds), text, text)
      .map(([id, input, output]) => callBlock(id, input, output)),
  )
  const state = fc.record({
    title: fc.constantFrom('one', 'two', ''),
    updatedAt: fc.nat(5),
    pinned: fc.boolean(),
    connected: fc.boolean(),
    turn: fc.constantFrom(openTurn, openTurn, undefined),
  })
  const append: Arbitrary<StoreOperation> = fc.record(
    {
      type: fc.constant('append' as const),
      session,
      texts: fc.array(text, { maxLength: 4 }),
      skip: fc.constantFrom(0, 0, 0, 0, 1, -1),
      state: state.map(({ turn, ...rest }) => ({ ...rest, ...(turn && { turn }) })),
      commandId: fc.constantFrom(...commandIds),
      closes: fc.subarray(blockIds),
    },
    { requiredKeys: ['type', 'session', 'texts', 'skip', 'closes'] },
  )
  const checkpoint = fc.record({
    type: fc.constant('checkpoint' as const),
    session,
    blocks: fc.uniqueArray(block, { selector: ({ id }) => id, minLength: 1 }),
  })
  const simple = (type: 'create' | 'delete' | 'reopen') => fc.record({ type: fc.constant(type), session })
  return fc.array(
    fc.oneof(
      { weight: 3, arbitrary: simple('create') },
      { weight: 1, arbitrary: simple('delete') },
      { weight: 1, arbitrary: simple('reopen') },
      { weight: 8, arbitrary: append },
      { weight: 4, arbitrary: checkpoint },
    ),
    { maxLength: 40, size: 'max' },
  )
}

export async function expectStoreToEqualModel(
  tested: { store: SessionStore; reopen?: () => Promise<SessionStore> },
  operations: readonly StoreOperation[],
): Promise<void> {
  let store = tested.store
  const model = new Map<string, ModelSession>()
  for (const operation of operations) {
    if (operation.type === 'reopen') store = (await tested.reopen?.()) ?? store
    else
      expect(await outcomeOf(perform(store, model.get(operation.session), operation))).toBe(
        account(model, operation),
      )
  }
  await expectEqual(store, model)
}

async function outcomeOf(result: Promise<unknown>): Promise<string> {
  return result.then(
    () => 'done',
    (thrown: { code?: string }) => thrown.code ?? String(thrown),
  )
}

function perform(
  store: SessionStore,
  known: ModelSession | undefined,
  operation: StoreOperation,
): Promise<unknown> {
  const { session } = operation
  switch (operation.type) {
    case 'create':
      return store.create({
        sessionId: session,
        epoch: `epoch of ${session}`,
        state: stateOf(session),
        events: [],
      })
    case 'append':
      return store.append(batchOf(operation, known))
    case 'checkpoint':
      return store.checkpoint(session, operation.blocks)
    default:
      return store.delete(session)
  }
}

/** Applies the operation to the model and returns the expected result. */
function account(model: Map<string, ModelSession>, operation: StoreOperation): string {
  const { session } = operation
  const known = model.get(session)
  if (operation.type === 'delete') model.delete(session)
  if (operation.type === 'create') {
    if (known) return 'conflict'
    model.set(session, { events: [], state: stateOf(session), receipts: new Map(), blocks: new Map() })
  }
  if (operation.type !== 'append' && operation.type !== 'checkpoint') return 'done'
  if (!known) return 'not_found'
  if (operation.type === 'checkpoint') {
    for (const block of operation.blocks) known.blocks.set(block.id, block)
    return 'done'
  }
  const { events, state, receipt } = batchOf(operation, known)
  if (operation.skip !== 0 && events.length > 0) return 'conflict'
  if (receipt && known.receipts.has(receipt.commandId)) return 'conflict'
  known.events.push(...events)
  for (const blockId of operation.closes) known.blocks.delete(blockId)
  if (receipt) known.receipts.set(receipt.commandId, receipt)
  if (state) known.state = state
  if (state && !state.turn) known.blocks.clear()
  return 'done'
}

function batchOf(operation: Extract<StoreOperation, { type: 'append' }>, known: ModelSession | undefined) {
  const { session, texts, skip, state, commandId, closes } = operation
  const head = known?.events.length ?? 0
  const events = texts.map((text, index) => {
    const seq = head + 1 + index + skip
    return { seq, json: JSON.stringify({ seq, at: 1, sessionId: session, type: 'text.written', text }) }
  })
  return {
    sessionId: session,
    events,
    closedBlocks: closes,
    ...(state && { state: stateOf(session, state) }),
    ...(commandId !== undefined && { receipt: receiptOf(commandId, head) }),
  }
}

async function expectEqual(store: SessionStore, model: Map<string, ModelSession>): Promise<void> {
  for (const id of sessionIds) {
    const known = model.get(id)
    const record = known && { head: known.events.length, epoch: `epoch of ${id}`, state: known.state }
    expect(await store.load(id)).toEqual(record)
    expect(await store.read(id, { limit: 1000 })).toEqual(known?.events ?? [])
    expect(await store.read(id, { before: 3, limit: 1 })).toEqual(known?.events.slice(0, 2).slice(-1) ?? [])
    expect(await store.checkpoints(id)).toEqual([...(known?.blocks.values() ?? [])])
    for (const commandId of commandIds) {
      expect(await store.receipt(id, commandId)).toEqual(known?.receipts.get(commandId))
    }
  }
  const states = [...model.values()].map(({ state }) => state)
  const unsettled = states.filter((state) => state.turn || state.connected).map(({ id }) => id)
  expect((await store.unsettled()).sort()).toEqual(unsettled.sort())
  const listed = states
    .toSorted(
      (a, b) => Number(b.pinned) - Number(a.pinned) || b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1),
    )
    .map(summarise)
  expect((await store.list({ limit: 100 })).sessions).toEqual(listed)
}
