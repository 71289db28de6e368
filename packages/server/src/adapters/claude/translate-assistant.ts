import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice, unrecognised } from '@parley/adapter-kit/translation'
import { describeCall } from './describe-call.ts'
import { ignoredBlocks, type NativeAssistant, type NativeBlock } from './native.ts'
import {
  callIdOf,
  parentOf,
  type StreamBlock,
  type TranslateState,
  type Translation,
  takenFrom,
  withTaken,
} from './translate-state.ts'
import { retractUnwritten, withoutStream } from './translate-stream.ts'
import { measureCall, withBegunTurn } from './translate-usage.ts'
import { endCall } from './translate-user.ts'

/** The model name on messages that Claude Code itself writes, such as errors. */
const synthetic = '<synthetic>'
const redacted = "A part of the model's thinking is encrypted and cannot be shown."

/** Translates an assistant message, which contains one finished block, or several if nothing was streamed. */
export function translateAssistant(before: TranslateState, message: NativeAssistant): Translation {
  const { content, model, usage } = message.message
  let state = withBegunTurn(before, message.user_message_uuids)
  const outputs: AgentOutput[] = []
  const take = (step: Translation) => {
    state = step.state
    outputs.push(...step.outputs)
  }
  if (model !== synthetic) take(abandonStream(state, message))
  if (message.supersedes?.length) take(retract(state, message.supersedes, 'the agent replaced it'))
  const error = message.error
  const isError = error !== undefined && model === synthetic
  content.forEach((block, position) => {
    take(isError ? errorNotice(state, message, block, error) : takeBlock(state, message, block, position))
  })
  const line = message.parent_tool_use_id ?? ''
  const streamed = state.streams[line]?.messageId === message.message.id
  if (!streamed && usage) take(measureCall(state, { id: message.message.id, isMain: line === '' }, [usage]))
  return { state, outputs }
}

/**
 * Drops the stream if the message belongs to another answer: the stream broke off, and the request was
 * repeated without streaming.
 */
function abandonStream(state: TranslateState, { message, parent_tool_use_id }: NativeAssistant): Translation {
  const line = parent_tool_use_id ?? ''
  const stream = state.streams[line]
  if (!stream || stream.messageId === message.id) return noOutput(state)
  return {
    state: withoutStream(state, line),
    outputs: retractUnwritten(state, stream, 'the response was interrupted; the agent requested it again'),
  }
}

/** Retracts the blocks and calls of these messages. */
export function retract(state: TranslateState, uuids: readonly string[], reason: string): Translation {
  const ids = uuids.flatMap((uuid) => takenFrom(state, uuid) ?? [])
  return {
    state,
    outputs: ids.map((blockId) => ({ type: 'block.retracted', blockId, reason })),
  }
}

function takeBlock(
  before: TranslateState,
  message: NativeAssistant,
  block: NativeBlock,
  position: number,
): Translation {
  const { state, streamed } = claim(before, message, block)
  const parent = parentOf(state, message.parent_tool_use_id)
  const blockId = streamed?.id ?? `${message.uuid}:${position}`
  const cut = message.aborted ? { interrupted: true as const } : {}
  switch (block.type) {
    case 'text':
      if (!block.text) return noOutput(state)
      return {
        state: withTaken(state, message.uuid, [blockId]),
        outputs: [{ type: 'text.written', blockId, text: block.text, ...cut, ...parent }],
      }
    case 'thinking':
      if (!block.thinking) return noOutput(state)
      return {
        state: withTaken(state, message.uuid, [blockId]),
        outputs: [{ type: 'thinking.written', blockId, text: block.thinking, ...cut, ...parent }],
      }
    case 'redacted_thinking':
      return { state, outputs: [notice('info', 'thinking-redacted', redacted, parent)] }
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return call(state, message, block)
    default:
      if (block.tool_use_id) return endCall(state, block, { parent })
      if (Object.hasOwn(ignoredBlocks, block.type)) return noOutput(state)
      return unrecognised(state, block, `a block of type ${block.type}`)
  }
}

/** Finds the streamed block that this block completes: the first one of the same type that is not `written`. */
function claim(
  state: TranslateState,
  message: NativeAssistant,
  block: NativeBlock,
): { state: TranslateState; streamed: StreamBlock | undefined } {
  const line = message.parent_tool_use_id ?? ''
  const stream = state.streams[line]
  if (stream?.messageId !== message.message.id) return { state, streamed: undefined }
  const streamed = stream.blocks.find(
    (one) => !one.written && one.type === block.type && (block.id === undefined || one.id === block.id),
  )
  if (!streamed) return { state, streamed: undefined }
  const blocks = stream.blocks.map((one) => (one === streamed ? { ...one, written: true } : one))
  return { state: { ...state, streams: { ...state.streams, [line]: { ...stream, blocks } } }, streamed }
}

function call(state: TranslateState, message: NativeAssistant, block: NativeBlock): Translation {
  const native = block.server_name ? `mcp__${block.server_name}__${block.name}` : String(block.name)
  const toolCallId = callIdOf(state, String(block.id))
  const { name, kind, title, locations } = describeCall(state, native, block.input)
  const parent = parentOf(state, message.parent_tool_use_id)
  const known = { name, title, input: block.input, ...parent }
  return {
    state: withTaken({ ...state, calls: new Map(state.calls).set(toolCallId, known) }, message.uuid, [
      toolCallId,
    ]),
    outputs: [
      {
        type: 'tool-call.called',
        toolCallId,
        name,
        kind,
        title,
        input: block.input,
        ...(locations && { locations }),
        ...parent,
      },
    ],
  }
}

function errorNotice(
  state: TranslateState,
  message: NativeAssistant,
  { text }: NativeBlock,
  code: string,
): Translation {
  if (!text) return noOutput(state)
  return { state, outputs: [notice('error', code, text, parentOf(state, message.parent_tool_use_id))] }
}
