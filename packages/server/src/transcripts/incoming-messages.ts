import {
  compactionText,
  type Delta,
  type Diff,
  defined,
  type ErrorInfo,
  type EventOf,
  isKnown,
  type PermissionOption,
  type PlanEntry,
  type Question,
  requestedDiffs,
  type SessionEvent,
  type TokenUsage,
  type ToolContent,
  type ToolKind,
  type UnknownEvent,
} from '@parley/protocol'
import { isDecidedAutomatically } from './decided-automatically.ts'

/** A message shape for programs that show all agents in the same way. Pieces of a text share its `msg_id`. */
export type IncomingMessage = { readonly at: number; readonly parentToolCallId?: string } & (
  | { readonly type: 'agent_text' | 'agent_thought'; readonly msg_id: string; readonly text: string }
  | ({ readonly type: 'agent_info' } & AgentInfo)
  | ({ readonly type: 'tool_call'; readonly status: 'in_progress' } & CallInfo)
  | ({ readonly type: 'tool_call_update' } & Pick<CallInfo, 'toolCallId'> & Partial<CallInfo> & CallNews)
  | { readonly type: 'system'; readonly text: string; readonly level: Level; readonly error?: ErrorInfo }
  | ({ readonly type: 'permission_request' } & RequestInfo)
  | { readonly type: 'retraction'; readonly msg_id: string; readonly reason?: string }
)

type Level = 'info' | 'warning' | 'error'
type AgentInfo = {
  readonly tokenUsage?: TokenUsage
  readonly context?: { readonly used: number; readonly window?: number | undefined }
  readonly costUsd?: number
  readonly notionalCost?: true
  readonly plan?: readonly PlanEntry[]
}
type CallInfo = {
  readonly toolCallId: string
  readonly name: string
  readonly title: string
  readonly kind: ToolKind
  /** The input of the call; text while it is still being written. */
  readonly rawInput: unknown
}
type CallNews = {
  readonly status?: 'in_progress' | 'completed' | 'failed' | 'denied' | 'cancelled'
  readonly content?: readonly ToolContent[]
}
type RequestInfo = {
  readonly id: string
  readonly tool: string
  readonly toolCallId?: string
  readonly content: string
  readonly rawInput?: unknown
  readonly options: readonly (PermissionOption | { readonly label: string })[]
  /** For a permission: true if the call changes nothing. */
  readonly readOnly?: boolean
  /** For a permission: the changes that the call would make, by file. */
  readonly diffs?: readonly Diff[]
  readonly questions?: readonly Question[]
}
type Draft = { text: string; sent: number }
type News = IncomingMessage extends infer Message
  ? Message extends IncomingMessage
    ? Omit<Message, 'at'>
    : never
  : never

/**
 * Converts events, and deltas if there are any, to incoming messages. Prompts are left out, because the program that
 * sent them already has them. A permission becomes a message only if a person is asked.
 */
export class IncomingMessages {
  readonly #sent = new Map<string, number>()
  /** The texts of this turn, which may still be retracted. */
  readonly #texts = new Set<string>()
  readonly #drafts = new Map<string, Draft>()
  #introduction = ''
  #held: EventOf<'permission.requested'> | undefined
  #at = 0

  take(event: SessionEvent | UnknownEvent): IncomingMessage[] {
    if (!isKnown(event)) return []
    const held = this.#held
    this.#held = undefined
    if (held && isDecidedAutomatically(held, event)) return []
    const before = held ? [stamped(permissionRequest(held), held.at, held)] : []
    this.#at = event.at
    if (event.type === 'permission.requested') this.#held = event
    return [...before, ...this.#news(event).map((one) => stamped(one, event.at, event))]
  }

  stream(delta: Delta): IncomingMessage[] {
    return this.#pieces(delta).map((one) => stamped(one, this.#at, delta))
  }

  /** Called when no event follows directly. A held request that is still undecided is then sent to the person. */
  settle(): IncomingMessage[] {
    const held = this.#held
    this.#held = undefined
    return held ? [stamped(permissionRequest(held), held.at, held)] : []
  }

  #news(event: SessionEvent): News[] {
    switch (event.type) {
      case 'text.written':
      case 'thinking.written':
        return this.#written(event)
      case 'tool-call.called':
        return [this.#called(event)]
      case 'tool-call.updated': {
        const { toolCallId, title, kind, input, content } = event
        return [
          { type: 'tool_call_update', toolCallId, ...defined({ title, kind, rawInput: input, content }) },
        ]
      }
      case 'tool-call.ended': {
        const { toolCallId, outcome, content } = event
        this.#sent.delete(toolCallId)
        return [{ type: 'tool_call_update', toolCallId, status: outcome, content }]
      }
      case 'block.retracted':
        return this.#retracted(event)
      case 'question.asked':
        return [questionRequest(event)]
      case 'agent.connected':
        return this.#connected(event)
      case 'turn.parked':
        return this.#dropDrafts()
      case 'turn.ended':
        this.#texts.clear()
        return [...this.#dropDrafts(), ...turnNews(event)]
      default:
        return stateNews(event)
    }
  }

  #written({ type, blockId, text }: EventOf<'text.written'> | EventOf<'thinking.written'>): News[] {
    const rest = text.slice(this.#sent.get(blockId) ?? 0)
    this.#sent.delete(blockId)
    this.#texts.add(blockId)
    const kind = type === 'text.written' ? 'agent_text' : 'agent_thought'
    return rest === '' ? [] : [{ type: kind, msg_id: blockId, text: rest }]
  }

  #called({ toolCallId, name, title, kind, input }: EventOf<'tool-call.called'>): News {
    const call = { toolCallId, name, title, kind, rawInput: input, status: 'in_progress' as const }
    return { type: this.#drafts.delete(toolCallId) ? 'tool_call_update' : 'tool_call', ...call }
  }

  /**
   * The messages for a retracted block: a drafted call is cancelled and a sent text is retracted. A text that
   * was not sent needs no message.
   */
  #retracted({ blockId, reason }: EventOf<'block.retracted'>): News[] {
    if (this.#drafts.delete(blockId)) return [neverMade(blockId)]
    this.#sent.delete(blockId)
    if (!this.#texts.delete(blockId)) return []
    return [{ type: 'retraction', msg_id: blockId, ...(reason !== undefined && { reason }) }]
  }

  #dropDrafts(): News[] {
    const dropped = [...this.#drafts.keys()].map(neverMade)
    this.#drafts.clear()
    return dropped
  }

  /**
   * Introduces the agent, if the introduction has changed. An agent connects again after it was shut down,
   * and reports more details as it learns them.
   */
  #connected({ model, cwd }: EventOf<'agent.connected'>): News[] {
    const where = [model && `model ${model}`, cwd && `in ${cwd}`].filter(Boolean)
    const introduction = ['Session initialised', ...where].join(', ')
    if (introduction === this.#introduction) return []
    this.#introduction = introduction
    return [system('info', introduction)]
  }

  #pieces(delta: Delta): News[] {
    switch (delta.type) {
      case 'text.streamed':
      case 'thinking.streamed': {
        const text = this.#fresh(delta.blockId, delta)
        const type = delta.type === 'text.streamed' ? 'agent_text' : 'agent_thought'
        this.#texts.add(delta.blockId)
        return text === '' ? [] : [{ type, msg_id: delta.blockId, text }]
      }
      case 'tool-call.drafted': {
        const { toolCallId, name, kind = 'other', title = name } = delta
        if (this.#drafts.has(toolCallId)) return []
        this.#drafts.set(toolCallId, { text: '', sent: 0 })
        return [{ type: 'tool_call', toolCallId, name, title, kind, rawInput: {}, status: 'in_progress' }]
      }
      case 'tool-call.input-streamed':
        return this.#inputPiece(delta)
      case 'tool-call.output-streamed': {
        const text = this.#fresh(delta.toolCallId, delta)
        if (text === '') return []
        return [{ type: 'tool_call_update', toolCallId: delta.toolCallId, content: [{ type: 'text', text }] }]
      }
      default:
        return []
    }
  }

  /**
   * Adds a piece to the input of a drafted call. Each update contains the whole input, so an update is sent only when
   * the input has grown by a share of its length. Otherwise the total would grow quadratically.
   */
  #inputPiece({ toolCallId, offset, text }: Extract<Delta, { type: 'tool-call.input-streamed' }>): News[] {
    const draft = this.#drafts.get(toolCallId)
    if (!draft || offset > draft.text.length) return []
    draft.text += text.slice(draft.text.length - offset)
    if (draft.text.length <= 1.25 * draft.sent) return []
    draft.sent = draft.text.length
    return [{ type: 'tool_call_update', toolCallId, rawInput: draft.text }]
  }

  #fresh(id: string, { offset, text }: { offset: number; text: string }): string {
    const sent = this.#sent.get(id) ?? 0
    if (offset > sent) return ''
    const fresh = text.slice(sent - offset)
    this.#sent.set(id, sent + fresh.length)
    return fresh
  }
}

export function incomingMessagesOf(events: Iterable<SessionEvent | UnknownEvent>): IncomingMessage[] {
  const messages = new IncomingMessages()
  const all: IncomingMessage[] = []
  for (const event of events) all.push(...messages.take(event))
  return [...all, ...messages.settle()]
}

function stamped(news: News, at: number, of: object): IncomingMessage {
  const parent = 'parentToolCallId' in of && typeof of.parentToolCallId === 'string' && of.parentToolCallId
  return { ...news, at, ...(parent && { parentToolCallId: parent }) } as IncomingMessage
}

function stateNews(event: SessionEvent): News[] {
  switch (event.type) {
    case 'agent.disconnected': {
      const isBad = event.reason === 'crashed' || event.reason === 'failed-to-start'
      return isBad ? [system('error', event.error?.message ?? 'The agent has stopped.', event.error)] : []
    }
    case 'agent.noticed':
      return [system(event.level, event.text)]
    case 'context.compacted':
      return [system('info', compactionText(event))]
    case 'plan.updated':
      return [{ type: 'agent_info', plan: event.entries }]
    case 'usage.measured': {
      const { total, context } = event
      return [{ type: 'agent_info', tokenUsage: total, context, ...costOf(event) }]
    }
    default:
      return []
  }
}

function costOf({ costUsd, notionalCost }: Pick<EventOf<'turn.ended'>, 'costUsd' | 'notionalCost'>) {
  return costUsd === undefined ? {} : defined({ costUsd, notionalCost })
}

function turnNews({ outcome, error, usage, ...end }: EventOf<'turn.ended'>): News[] {
  const cost = end.costUsd !== undefined && costOf(end)
  const info: News[] =
    usage || cost ? [{ type: 'agent_info', ...(usage && { tokenUsage: usage }), ...cost }] : []
  if (outcome === 'completed') return info
  if (outcome === 'cancelled') return [system('info', 'The turn was cancelled.'), ...info]
  const text =
    error?.message ?? (outcome === 'failed' ? 'The turn failed.' : 'How the turn ended is unknown.')
  return [system('error', text, error), ...info]
}

function system(level: Level, text: string, error?: ErrorInfo): News {
  return { type: 'system', level, text, ...(error && { error }) }
}

/** The update for a call that was drafted and never made. */
function neverMade(toolCallId: string): News {
  return { type: 'tool_call_update', toolCallId, status: 'cancelled', content: [] }
}

function permissionRequest(event: EventOf<'permission.requested'>): News {
  const { requestId, tool, toolCallId, title, reason, input, options, readOnly } = event
  const diffs = requestedDiffs(event)
  const content = reason === undefined ? title : `${title}\n${reason}`
  return {
    type: 'permission_request',
    id: requestId,
    tool,
    ...(toolCallId !== undefined && { toolCallId }),
    content,
    rawInput: input,
    options,
    readOnly,
    ...(diffs.length > 0 && { diffs }),
  }
}

/** A question in the form of a permission request, as this format requires: its options are the answers. */
function questionRequest({ requestId, toolCallId, questions }: EventOf<'question.asked'>): News {
  return {
    type: 'permission_request',
    id: requestId,
    tool: 'question',
    ...(toolCallId !== undefined && { toolCallId }),
    content: questions.map(({ text }) => text).join('\n'),
    options: questions[0]?.options.map(({ label }) => ({ label })) ?? [],
    questions,
  }
}
