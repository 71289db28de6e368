import type { AvailableCommand, SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import {
  type AgentCommand,
  type AgentInfo,
  applyToState,
  causeText,
  type Delta,
  type EventOf,
  isKnown,
  type PromptPart,
  type SessionEvent,
  type SessionSettings,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import { compact, contentBlocks } from './prompt-parts.ts'
import { type Chosen, configOptions, modeState, overlaid } from './settings.ts'
import { ToolCallUpdates, withParent } from './tool-call-updates.ts'

export type SessionUpdatesOptions = {
  readonly agent: AgentInfo
  /** The state before the first event. */
  readonly state: SessionState
  /** Optional ACP features that the editor supports. */
  readonly knows: { readonly notices: boolean; readonly compaction: boolean }
  /** Whether this editor sent the prompt and therefore shows it already. */
  readonly isOwn: (messageId: string | undefined) => boolean
}

type Written = EventOf<'text.written'> | EventOf<'thinking.written'>
type Streamed = Extract<Delta, { type: 'text.streamed' | 'thinking.streamed' }>

/**
 * Converts a log into updates of the Agent Client Protocol. The same events and deltas give the same updates.
 * Invariants:
 * - The chunks of a block add up to the written block, even if deltas are missing.
 * - A call is announced once, before its updates; its end is its last update.
 * - A prompt is sent when its turn starts, and never to the editor that sent it.
 */
export class SessionUpdates {
  readonly #options: SessionUpdatesOptions
  readonly #calls: ToolCallUpdates
  /** The number of characters of each open block that were sent. */
  readonly #sent = new Map<string, number>()
  readonly #prompts = new Map<string, { parts: readonly PromptPart[]; own: boolean }>()
  /** The last value that was sent for each kind of update. */
  readonly #inForce = new Map<string, string>()
  #state: SessionState
  #chosen: Chosen

  constructor(options: SessionUpdatesOptions) {
    const { state } = options
    this.#options = options
    this.#state = state
    this.#calls = new ToolCallUpdates(() => this.#state.cwd)
    this.#chosen = overlaid(overlaid({}, state.requested), state.effective)
    for (const { promptId, parts } of state.queue) this.#prompts.set(promptId, { parts, own: false })
  }

  get state(): SessionState {
    return this.#state
  }

  get modes() {
    return modeState(this.#settings, this.#chosen)
  }

  get configOptions() {
    return configOptions(this.#settings, this.#chosen)
  }

  get #settings() {
    return { agent: this.#options.agent, state: this.#state }
  }

  /** Called when settings that the editor has chosen are in the log. */
  choose(settings: SessionSettings): void {
    this.#chosen = overlaid(this.#chosen, settings)
  }

  /** Updates that announce the open calls of a session that is resumed in the middle of a turn. */
  openCalls(): SessionUpdate[] {
    return this.#state.openBlocks.flatMap((block) =>
      block.type === 'tool-call' ? this.#calls.open(block) : [],
    )
  }

  event(event: SessionEvent | UnknownEvent): SessionUpdate[] {
    if (!isKnown(event)) return []
    this.#state = applyToState(this.#state, event)
    if (event.type === 'session.configured')
      this.#chosen = overlaid(overlaid(this.#chosen, event.requested), event.effective)
    if (event.type === 'session.created')
      this.#chosen = overlaid(this.#chosen, { mode: event.mode, ...this.#state.requested })
    return this.#updatesOf(event)
  }

  delta(delta: Delta): SessionUpdate[] {
    switch (delta.type) {
      case 'text.streamed':
      case 'thinking.streamed':
        return this.#piece(delta)
      case 'tool-call.drafted':
        return this.#calls.drafted(delta)
      case 'tool-call.output-streamed':
        return this.#calls.output(delta)
      default:
        return []
    }
  }

  /** Updates with the output of calls since this method was last called. */
  outputs(): SessionUpdate[] {
    return this.#calls.outputs()
  }

  /** Updates for values that changed since they were last sent: title, mode, options, commands, plan, usage. */
  news(): SessionUpdate[] {
    const { title, connection, plan, usage } = this.#state
    const { currentModeId } = this.modes
    const { configOptions: options } = this
    const commands = this.#commands(connection?.commands ?? [])
    const { used = 0, window } = usage?.context ?? {}
    return [
      ...this.#ifNew(title !== '', { sessionUpdate: 'session_info_update', title }),
      ...this.#ifNew(true, { sessionUpdate: 'current_mode_update', currentModeId }),
      ...this.#ifNew(true, { sessionUpdate: 'config_option_update', configOptions: options }),
      ...this.#ifNew(commands.length > 0, {
        sessionUpdate: 'available_commands_update',
        availableCommands: commands,
      }),
      ...this.#ifNew(plan.length > 0, { sessionUpdate: 'plan', entries: planEntries(plan) }),
      ...this.#ifNew(window !== undefined && window > 0, {
        sessionUpdate: 'usage_update',
        used,
        size: window ?? 0,
        ...(usage?.costUsd !== undefined && { cost: { amount: usage.costUsd, currency: 'USD' } }),
      }),
    ]
  }

  #commands(own: readonly AgentCommand[]): AvailableCommand[] {
    const { compaction } = this.#options.agent.capabilities
    const isOurs = compaction && !own.some(({ name }) => name === compact.name)
    return [...own, ...(isOurs ? [compact] : [])].map(({ name, description = '', hint }: AgentCommand) => ({
      name,
      description,
      ...(hint && { input: { hint } }),
    }))
  }

  /** Marks the mode and the options as sent, because the answer contained them. */
  answered(): void {
    for (const update of this.news()) {
      const isAnswer =
        update.sessionUpdate === 'current_mode_update' || update.sessionUpdate === 'config_option_update'
      if (!isAnswer) this.#inForce.delete(update.sessionUpdate)
    }
  }

  #ifNew(isThere: boolean, update: SessionUpdate): SessionUpdate[] {
    const value = JSON.stringify(update)
    if (!isThere || this.#inForce.get(update.sessionUpdate) === value) return []
    this.#inForce.set(update.sessionUpdate, value)
    return [update]
  }

  #updatesOf(event: SessionEvent): SessionUpdate[] {
    switch (event.type) {
      case 'prompt.submitted':
        return this.#submitted(event)
      case 'prompt.withdrawn':
        this.#prompts.delete(event.promptId)
        return []
      case 'turn.started':
        return event.promptId === undefined
          ? this.aside('info', causeText(event))
          : this.#prompt(event.promptId)
      case 'text.written':
      case 'thinking.written':
        return this.#rest(event)
      case 'block.retracted':
        this.#sent.delete(event.blockId)
        return this.aside('info', 'The agent retracted its last message.', event.reason)
      case 'tool-call.called':
      case 'tool-call.updated':
      case 'tool-call.ended':
      case 'permission.requested':
      case 'permission.resolved':
        return this.#calls.event(event)
      case 'agent.noticed':
        return event.level === 'info' && !this.#options.knows.notices
          ? []
          : this.aside(event.level, event.text)
      case 'context.compacted':
        return this.#compacted(event)
      case 'turn.ended':
        this.#sent.clear()
        this.#calls.clear()
        return []
      default:
        return []
    }
  }

  /** Returns a notice, or a thought if the editor does not support notices. */
  aside(severity: 'info' | 'warning' | 'error', title: string, description?: string): SessionUpdate[] {
    if (this.#options.knows.notices)
      return [{ sessionUpdate: 'notice', severity, title, ...(description && { description }) }]
    const text = `\n\nParley: ${description ? `${title} ${description}` : title}\n\n`
    return [{ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }]
  }

  #submitted(event: EventOf<'prompt.submitted'>): SessionUpdate[] {
    const { promptId, parts, messageId, turnId } = event
    this.#prompts.set(promptId, { parts, own: this.#options.isOwn(messageId) })
    return turnId === undefined ? [] : this.#prompt(promptId)
  }

  #prompt(promptId: string): SessionUpdate[] {
    const prompt = this.#prompts.get(promptId)
    this.#prompts.delete(promptId)
    if (!prompt || prompt.own) return []
    return contentBlocks(prompt.parts, this.#state.cwd).map((content) => ({
      sessionUpdate: 'user_message_chunk',
      content,
      messageId: promptId,
    }))
  }

  #piece(delta: Streamed): SessionUpdate[] {
    const sent = this.#sent.get(delta.blockId) ?? 0
    const end = delta.offset + delta.text.length
    if (delta.offset > sent || end <= sent) return []
    this.#sent.set(delta.blockId, end)
    return [chunk(delta, delta.text.slice(sent - delta.offset))]
  }

  #rest(event: Written): SessionUpdate[] {
    const sent = this.#sent.get(event.blockId) ?? 0
    this.#sent.delete(event.blockId)
    const rest = event.text.slice(sent)
    return rest === '' ? [] : [chunk(event, rest)]
  }

  #compacted({ seq, summary, trigger }: EventOf<'context.compacted'>): SessionUpdate[] {
    if (!this.#options.knows.compaction) return this.aside('info', 'The context was compacted.')
    return [
      {
        sessionUpdate: 'compaction_update',
        compactionId: `compaction-${seq}`,
        status: 'completed',
        ...(summary && { summary: [{ type: 'text', text: summary }] }),
        _meta: { parley: { trigger } },
      },
    ]
  }
}

function chunk(from: Written | Streamed, text: string): SessionUpdate {
  const isText = from.type === 'text.written' || from.type === 'text.streamed'
  return {
    sessionUpdate: isText ? 'agent_message_chunk' : 'agent_thought_chunk',
    content: { type: 'text', text },
    messageId: from.blockId,
    ...withParent(from),
  }
}

/** ACP has no status for a cancelled entry, so such entries are left out. */
function planEntries(plan: SessionState['plan']) {
  const words = { pending: 'pending', 'in-progress': 'in_progress', completed: 'completed' } as const
  return plan.flatMap(({ text, status, priority = 'medium' }) =>
    status === 'cancelled' ? [] : [{ content: text, priority, status: words[status] }],
  )
}
