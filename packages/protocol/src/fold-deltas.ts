import type { OpenBlock, OpenToolCall } from './block.ts'
import type { Delta } from './delta.ts'
import type { SessionState } from './session-state.ts'

/**
 * Folds one live delta into the open blocks. The cost does not depend on the length of the block or the
 * session.
 */
export function applyDeltaToState(state: SessionState, delta: Delta): SessionState {
  if (delta.type === 'activity.changed' || delta.type === 'command.progressed') return state
  const id = 'blockId' in delta ? delta.blockId : delta.toolCallId
  let index = state.openBlocks.length - 1
  while (index >= 0 && state.openBlocks[index]!.id !== id) index--
  const before = index >= 0 ? state.openBlocks[index] : undefined
  const after = withDelta(before, delta)
  if (after === before || !after) return state
  const openBlocks = state.openBlocks.slice()
  openBlocks[index >= 0 ? index : openBlocks.length] = after
  return { ...state, openBlocks }
}

function withDelta(block: OpenBlock | undefined, delta: Delta): OpenBlock | undefined {
  switch (delta.type) {
    case 'text.streamed':
    case 'thinking.streamed': {
      const type = delta.type === 'text.streamed' ? 'text' : 'thinking'
      const open = block?.type === type ? block : textBlock(type, delta)
      return grown(open, 'text', delta, block !== undefined)
    }
    case 'tool-call.drafted':
      return block ?? draftedCall(delta)
    case 'tool-call.input-streamed':
    case 'tool-call.output-streamed': {
      const field = delta.type === 'tool-call.input-streamed' ? 'input' : 'output'
      const open = block?.type === 'tool-call' ? block : draftedCall({ ...delta, name: '' })
      return grown(open, field, delta, block !== undefined)
    }
    default:
      return block
  }
}

function textBlock(
  type: 'text' | 'thinking',
  delta: { blockId: string; turnId?: string | undefined; parentToolCallId?: string | undefined },
): OpenBlock & { text: string } {
  return {
    type,
    id: delta.blockId,
    ...(delta.turnId && { turnId: delta.turnId }),
    text: '',
    ...(delta.parentToolCallId && { parentToolCallId: delta.parentToolCallId }),
  }
}

function draftedCall(delta: {
  toolCallId: string
  turnId?: string | undefined
  name: string
  kind?: OpenToolCall['kind']
  title?: string | undefined
  parentToolCallId?: string | undefined
}): OpenToolCall {
  return {
    type: 'tool-call',
    id: delta.toolCallId,
    ...(delta.turnId && { turnId: delta.turnId }),
    name: delta.name,
    ...(delta.kind && { kind: delta.kind }),
    ...(delta.title && { title: delta.title }),
    called: false,
    input: '',
    output: '',
    ...(delta.parentToolCallId && { parentToolCallId: delta.parentToolCallId }),
  }
}

/**
 * Appends the part of a piece that the block does not have. A piece that starts beyond the end of the block sets
 * `gap`.
 */
function grown<B extends OpenBlock, F extends keyof B>(
  block: B,
  field: F,
  delta: { offset: number; text: string },
  existed: boolean,
): B {
  const text = block[field] as string
  if (block.gap && delta.offset === 0) {
    const { gap, ...whole } = block
    return { ...whole, [field]: delta.text } as unknown as B
  }
  if (delta.offset > text.length) return block.gap ? block : { ...block, gap: true }
  const fresh = text.length === delta.offset ? delta.text : delta.text.slice(text.length - delta.offset)
  if (fresh === '' && existed) return block
  return { ...block, [field]: text + fresh }
}
