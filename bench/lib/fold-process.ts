import {
  applyDelta,
  applyEvents,
  type Delta,
  type EventDraft,
  emptyView,
  type SessionEvent,
  type SessionView,
} from '@parley/protocol'
import { answer } from './processes.ts'
import { median } from './stats.ts'
import { pieces, text } from './words.ts'

export type FoldCase = {
  readonly what: 'text' | 'tool input'
  readonly characters: number
  readonly calls: number
  /** Set if the calls of the session have not ended. */
  readonly open?: true
}

const deltasARound = 200
const words = pieces(0, deltasARound)

/** Microseconds per delta. Every round measures each case on both sides. */
function measure({ cases, rounds }: { cases: readonly FoldCase[]; rounds: number }) {
  const prepared = cases.map((one) => {
    const before = text(0, one.characters)
    return { view: viewOf(one), deltas: deltasOf(one), before, ours: [] as number[], bare: [] as number[] }
  })
  for (let round = 0; round < rounds; round++) {
    for (const { view, deltas, ours, bare, before } of prepared) {
      ours.push(timed(() => foldAll(view, deltas)))
      bare.push(timed(() => appendAll(before)))
    }
  }
  return prepared.map(({ ours, bare }) => ({
    ours: median(ours.slice(rounds / 4)),
    bare: median(bare.slice(rounds / 4)),
  }))
}

function timed(work: () => number): number {
  const start = performance.now()
  if (work() === 0) throw new Error('Nothing was folded.')
  return ((performance.now() - start) * 1000) / deltasARound
}

function foldAll(view: SessionView, deltas: readonly Delta[]): number {
  let current = view
  for (const delta of deltas) current = applyDelta(current, delta)
  const block = current.state.openBlocks.at(-1)!
  const grown = block.type === 'tool-call' ? block.input : block.text
  const last = deltas.at(-1) as { offset: number; text: string }
  if (grown.length !== last.offset + last.text.length)
    throw new Error(`The block has ${grown.length} characters.`)
  return grown.length
}

function appendAll(before: string): number {
  const blocks = new Map([['streaming', before]])
  for (const word of words) blocks.set('streaming', blocks.get('streaming')! + word)
  return blocks.get('streaming')!.length
}

function viewOf({ what, characters, calls, open }: FoldCase): SessionView {
  const drafts: EventDraft[] = [
    { type: 'session.created', agent: 'bench', cwd: '/', title: 'Fold', mode: 'ask' },
    { type: 'prompt.submitted', promptId: 'prm', parts: [{ type: 'text', text: 'go' }], delivery: 'queue' },
    { type: 'turn.started', turnId: 'trn', promptId: 'prm' },
  ]
  for (let index = 0; index < calls; index++) {
    const toolCallId = `call-${index}`
    drafts.push({
      type: 'tool-call.called',
      turnId: 'trn',
      toolCallId,
      name: 'Read',
      kind: 'read',
      title: 'Read',
      input: {},
    })
    if (!open)
      drafts.push({ type: 'tool-call.ended', turnId: 'trn', toolCallId, outcome: 'completed', content: [] })
  }
  const events = drafts.map(
    (draft, index) => ({ seq: index + 1, at: index, sessionId: 'ses', ...draft }) as SessionEvent,
  )
  const view = applyEvents(emptyView('ses'), events)
  const start = text(0, characters)
  return applyDelta(view, deltaAt(what, 0, Buffer.from(start).toString()))
}

function deltasOf({ what, characters }: FoldCase): Delta[] {
  let offset = text(0, characters).length
  return words.map((word) => {
    const delta = deltaAt(what, offset, word)
    offset += word.length
    return delta
  })
}

function deltaAt(what: FoldCase['what'], offset: number, piece: string): Delta {
  return what === 'text'
    ? { type: 'text.streamed', turnId: 'trn', blockId: 'streaming', offset, text: piece }
    : { type: 'tool-call.input-streamed', turnId: 'trn', toolCallId: 'streaming', offset, text: piece }
}

const calls = { measure }
export type FoldCalls = typeof calls

answer(calls)
