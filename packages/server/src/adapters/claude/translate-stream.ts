import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice, unrecognised } from '@parley/adapter-kit/translation'
import { describeCall } from './describe-call.ts'
import {
  ignoredStreamEvents,
  type NativeBlock,
  type NativeStreamEvent,
  type NativeUsage,
  type StreamDelta,
  type StreamEvent,
} from './native.ts'
import {
  callIdOf,
  parentOf,
  type Stream,
  type StreamBlock,
  type TranslateState,
  type Translation,
} from './translate-state.ts'
import { measureCall, withBegunTurn } from './translate-usage.ts'

type EventOf<Type extends StreamEvent['type']> = Extract<StreamEvent, { type: Type }>

/** Translates one event of a streamed answer into deltas, and stores the data that is needed to write the blocks. */
export function translateStreamEvent(before: TranslateState, message: NativeStreamEvent): Translation {
  const { event, parent_tool_use_id: parent } = message
  const state = withBegunTurn(before, message.user_message_uuids)
  switch (event.type) {
    case 'message_start':
      return startMessage(state, event, parent ?? '')
    case 'content_block_start':
      return startBlock(state, event, parent ?? '')
    case 'content_block_delta':
      return streamDelta(state, event, parent ?? '')
    case 'message_delta':
      return measureAnswer(state, parent ?? '', event.usage)
    case 'error': {
      const { type = 'stream-error', message: text = 'The response of the model was interrupted.' } =
        event.error ?? {}
      return { state, outputs: [notice('error', type, text, parentOf(state, parent))] }
    }
    case 'ping':
      return noOutput(state)
    default:
      if (Object.hasOwn(ignoredStreamEvents, event.type)) return noOutput(state)
      return unrecognised(state, message, 'a stream event of an unknown type')
  }
}

function measureAnswer(state: TranslateState, line: string, ended: NativeUsage | undefined): Translation {
  const stream = state.streams[line]
  if (!stream) return noOutput(state)
  return measureCall(state, { id: stream.messageId, isMain: line === '' }, [stream.usage, ended])
}

/** Retracts the blocks that were streamed but never written, because another attempt replaces them. */
export function retractUnwritten(
  state: TranslateState,
  stream: Stream | undefined,
  reason: string,
): AgentOutput[] {
  const open = stream?.blocks.filter(({ begun, written }) => begun && !written) ?? []
  return open.map(({ id }) => ({ type: 'block.retracted', blockId: callIdOf(state, id), reason }))
}

export function withoutStream(state: TranslateState, parent: string): TranslateState {
  if (!(parent in state.streams)) return state
  const { [parent]: _, ...streams } = state.streams
  return { ...state, streams }
}

const streamedTypes = new Set(['text', 'thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use'])

function startMessage(state: TranslateState, event: EventOf<'message_start'>, parent: string): Translation {
  const { id, usage } = event.message
  const stream: Stream = { messageId: id, blocks: [], usage }
  return {
    state: { ...state, streams: { ...state.streams, [parent]: stream } },
    outputs: retractUnwritten(state, state.streams[parent], 'the model restarted its response'),
  }
}

function startBlock(
  state: TranslateState,
  { index, content_block: block }: EventOf<'content_block_start'>,
  parent: string,
): Translation {
  const stream = state.streams[parent]
  if (!stream || !streamedTypes.has(block.type)) return noOutput(state)
  const id = block.id ?? `${stream.messageId}:${index}`
  const turn = state.turn?.number
  const outputs = draftOf(state, block, parent)
  const begun = outputs.length > 0
  const started: StreamBlock = { index, type: block.type, id, begun, written: false, turn }
  return { state: withBlocks(state, parent, [...stream.blocks, started]), outputs }
}

function withBlocks(state: TranslateState, parent: string, blocks: readonly StreamBlock[]): TranslateState {
  const stream = state.streams[parent]
  return stream ? { ...state, streams: { ...state.streams, [parent]: { ...stream, blocks } } } : state
}

function draftOf(state: TranslateState, block: NativeBlock, parent: string): AgentOutput[] {
  if (!block.id || !block.name) return []
  const { name, kind } = describeCall(state, block.name, block.input)
  return [
    {
      type: 'tool-call.drafted',
      toolCallId: callIdOf(state, block.id),
      name,
      kind,
      ...parentOf(state, parent),
    },
  ]
}

function streamDelta(
  state: TranslateState,
  { index, delta }: EventOf<'content_block_delta'>,
  parent: string,
): Translation {
  const blocks = state.streams[parent]?.blocks ?? []
  const block = blocks.find((one) => one.index === index)
  if (!block || (parent === '' && block.turn !== state.turn?.number)) return noOutput(state)
  const outputs = deltaOf(state, block, delta, parent)
  if (block.begun || outputs.length === 0) return { state, outputs }
  const begun = blocks.map((one) => (one === block ? { ...one, begun: true } : one))
  return { state: withBlocks(state, parent, begun), outputs }
}

function deltaOf(
  state: TranslateState,
  { id }: StreamBlock,
  delta: StreamDelta,
  parent: string,
): AgentOutput[] {
  switch (delta.type) {
    case 'text_delta':
      return delta.text
        ? [{ type: 'text.streamed', blockId: id, text: delta.text, ...parentOf(state, parent) }]
        : []
    case 'thinking_delta':
      return delta.thinking
        ? [{ type: 'thinking.streamed', blockId: id, text: delta.thinking, ...parentOf(state, parent) }]
        : []
    case 'input_json_delta':
      return delta.partial_json
        ? [
            {
              type: 'tool-call.input-streamed',
              toolCallId: callIdOf(state, id),
              text: delta.partial_json,
            },
          ]
        : []
    default: // signatures and citations have no readable text while a block is being written
      return []
  }
}
