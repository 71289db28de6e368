import { basename } from 'node:path'
import type { AgentOutput, Remembered } from '@parley/adapter-kit'
import type { PromptPart } from '@parley/protocol'
import type { KnownAgent } from './agent.ts'
import type { Frame, NativeContent, NativeMessage } from './native.ts'
import { initialState, type TranslateState, translate } from './translate.ts'

/**
 * The outputs that belong to a turn. The others, such as the current mode, describe the process that replays the
 * conversation.
 */
const kept: ReadonlySet<AgentOutput['type']> = new Set([
  'text.written',
  'thinking.written',
  'tool-call.called',
  'tool-call.updated',
  'tool-call.ended',
  'plan.updated',
  'context.compacted',
  'agent.unrecognised',
] as const)

type ReplayUpdate = {
  readonly sessionUpdate: string
  readonly content: NativeContent
  readonly messageId?: string | null
}

/**
 * Turns the replay of a loaded conversation into turns. Each message of the person begins a turn. A replay contains
 * neither the outcomes of turns nor any times.
 */
export class ReplayTranslator {
  readonly #at: number
  readonly #notThePerson: RegExp | undefined
  readonly #notTheAgent: RegExp | undefined
  readonly #remembered: Remembered[] = []
  #state: TranslateState
  #parts: PromptPart[] = []
  #messageId: string | null | undefined
  #turns = 0

  constructor({ dialect, modes }: KnownAgent, { id, at }: { id: string; at: number }) {
    this.#at = at
    this.#notThePerson = dialect.notThePerson ? new RegExp(dialect.notThePerson) : undefined
    this.#notTheAgent = dialect.notTheAgent ? new RegExp(dialect.notTheAgent) : undefined
    // The title and content of an ended call no longer show its input, so the input is not read from them.
    const replayed = { ...dialect, commandInTitle: false, inputInContent: false }
    this.#state = initialState({ dialect: replayed, modes, connectionId: id, requestedMode: 'ask' })
  }

  receive({ message }: Frame): void {
    if (message?.method !== 'session/update') return
    const { update } = (message.params ?? {}) as { update?: Partial<ReplayUpdate> }
    if (update?.sessionUpdate === 'user_message_chunk') return this.#takePrompt(update as ReplayUpdate)
    if (this.#parts.length > 0) this.#begin()
    if (this.#turns === 0 || this.#isNotOfAgent(update)) return
    for (const params of inSteps(update)) this.#translate('agent', { ...message, params })
  }

  /** Ends the last turn and returns all turns. No frames may follow. */
  end(): readonly Remembered[] {
    if (this.#parts.length > 0) this.#begin()
    this.#endTurn()
    return this.#remembered
  }

  #isNotOfAgent({ sessionUpdate, content }: Partial<ReplayUpdate> = {}): boolean {
    return sessionUpdate === 'agent_message_chunk' && Boolean(this.#notTheAgent?.test(content?.text ?? ''))
  }

  #takePrompt({ content, messageId }: ReplayUpdate): void {
    if (this.#notThePerson?.test(content?.text ?? '')) return
    if (this.#parts.length > 0 && messageId !== this.#messageId) this.#begin()
    this.#messageId = messageId
    this.#parts.push(...partOf(content))
  }

  #begin(): void {
    this.#endTurn()
    this.#remembered.push({ type: 'prompt', at: this.#at, parts: this.#parts })
    const prompt = this.#parts.map((part) => (part.type === 'text' ? part : { type: part.type }))
    this.#parts = []
    this.#turns++
    this.#translate('host', { id: this.#turns, method: 'session/prompt', params: { prompt } })
  }

  #endTurn(): void {
    if (this.#turns > 0) this.#translate('agent', { id: this.#turns, result: { stopReason: 'end_turn' } })
  }

  #translate(from: Frame['from'], message: NativeMessage): void {
    const { state, outputs } = translate(this.#state, { from, message })
    this.#state = state
    for (const output of outputs)
      if (kept.has(output.type)) this.#remembered.push({ type: 'output', at: this.#at, output })
  }
}

const ended = new Set(['completed', 'failed', 'cancelled'])

/** If the first update about a call reports the end of the call, splits the update into the call and its end. */
function inSteps(update: object | undefined): { update: object | undefined }[] {
  const { sessionUpdate, status, content, rawOutput, ...call } = (update ?? {}) as Record<string, unknown>
  if (sessionUpdate !== 'tool_call' || !ended.has(String(status))) return [{ update }]
  const { toolCallId } = call
  const end = { sessionUpdate: 'tool_call_update', toolCallId, status, content, rawOutput }
  return [{ update: { ...call, sessionUpdate } }, { update: end }]
}

function partOf(content: NativeContent): PromptPart[] {
  const { type, text, mimeType, data, uri, resource } = content
  if (type === 'text') return text ? [{ type: 'text', text }] : []
  if (type === 'image' && data !== undefined)
    return [{ type: 'image', mimeType: mimeType ?? 'image/png', data }]
  const from = resource?.uri ?? uri ?? ''
  if (resource?.text !== undefined) return [{ type: 'file', name: basename(from), text: resource.text }]
  return [{ type: 'text', text: `[${type}${from && `: ${from}`}]` }]
}
