import type { AgentAdapter } from '@parley/adapter-kit'
import { type EventDraft, messageOf } from '@parley/protocol'
import type { AgentLink } from './agent-link.ts'
import { withTimeLimit } from './clock.ts'
import {
  type Difference,
  differenceOf,
  outsideDrafts,
  type RecordedTurn,
  recordedTurns,
} from './outside-turns.ts'
import type { SessionContext } from './session-services.ts'

const readMs = 60_000

/**
 * A conversation may continue in the agent's own program while no process of ours holds it. When the agent is started
 * again, its record is read before the next turn, and the turns that took place in that program are added to the log as
 * outside turns. If the record cannot be read, a notice reports that.
 */
export class Rejoin {
  readonly #context: SessionContext
  #link: AgentLink | undefined
  /** True if the record was read and no process of ours has since held and released the conversation. */
  #isRead = false
  /** True if the agent's record may contain more than the log, although the agent is connected. */
  #isBehind = false

  constructor(context: SessionContext) {
    this.#context = context
  }

  /** Called when a process of ours holds the conversation. */
  attach(link: AgentLink): void {
    this.#link = link
  }

  /** Called when no process of ours holds the conversation any more. */
  detach(): void {
    this.#link = undefined
    this.#isRead = false
  }

  /** True if the conversation may have continued in the agent's own program since the record was last read. */
  get isDue(): boolean {
    const { adapter, log } = this.#context
    const { connection, forkPending, released } = log.state
    if (this.#isRead || !adapter || forkPending || connection?.agentSessionId === undefined) return false
    return adapter.capabilities.rejoin || released !== undefined
  }

  /** True if the agent's record must be read, and its outside turns added to the log, before the next turn. */
  get isRequired(): boolean {
    return (!this.#link || this.#isBehind) && this.isDue
  }

  /** Called when the agent is started before its record is read. The record must then be read before the next turn. */
  postpone(): void {
    if (this.isDue) this.#isBehind = true
  }

  /**
   * Asks the connected agent, between turns, whether somebody continued the conversation in the agent's own program.
   */
  async checkElsewhere(): Promise<void> {
    const { log, problem } = this.#context
    const link = this.#link
    if (!link || link.closing || log.state.turn || this.#isBehind) return
    const said = await link.connection.outsideMessages?.().catch((error: unknown) => {
      problem(error, 'ask the agent for messages from its own program')
      return undefined
    })
    if ((said ?? 'nothing') === 'nothing' || this.#link !== link || log.state.turn) return
    this.#isBehind = true
    this.#isRead = false
    if (said === 'unknown') await link.close('restarted')
  }

  /**
   * Reads the record and adds the outside turns to the log. Never throws: a record that cannot be read must not block
   * the session. If the agent has begun a turn of its own meanwhile, nothing is recorded, and the record must be read
   * again. `wasReleased`: a person released the conversation before the agent was started.
   */
  async run(wasReleased: boolean): Promise<void> {
    const { adapter, log } = this.#context
    const { connection } = log.state
    this.#isRead = true
    this.#isBehind = false
    if (!adapter || connection?.agentSessionId === undefined) return
    if (!adapter.capabilities.rejoin) return this.#notice(unknown(adapter))
    try {
      const difference = await this.#difference(adapter, connection.agentSessionId)
      const isRecorded = await this.#record(difference.turns, notices(adapter, difference))
      this.#isRead = isRecorded
      this.#isBehind = !isRecorded
    } catch (error) {
      await this.#notice(unread(adapter, error, wasReleased))
    }
  }

  async #difference(adapter: AgentAdapter, agentSessionId: string): Promise<Difference> {
    const { conversations: memory } = adapter
    if (!memory) throw new Error('it does not list its conversations')
    const record = await withTimeLimit(this.#context.services.clock, readMs, (signal) =>
      recordedTurns(memory.read(agentSessionId, signal)),
    )
    const { heard = [], lastTurn, createdAt } = this.#context.log.state
    const ids = heard.map(
      ({ promptId, outsideId }) => outsideId ?? memory.idOf?.(agentSessionId, promptId) ?? promptId,
    )
    return differenceOf(record, ids, lastTurn?.endedAt ?? createdAt)
  }

  /** Records the turns and the notices about them together, or nothing if a turn is open. */
  async #record(turns: readonly RecordedTurn[], about: readonly EventDraft[]): Promise<boolean> {
    const { persist, services } = this.#context
    const { ids, clock } = services
    if (turns.length === 0) return true
    const events = await persist((state) => ({
      drafts: state.turn ? [] : [...about, ...outsideDrafts(state, turns, ids, clock.now())],
    }))
    if (!events) throw new Error('it could not be recorded')
    return events.length > 0
  }

  async #notice(draft: EventDraft): Promise<void> {
    await this.#context.persist(() => ({ drafts: [draft] }))
  }
}

function notices({ name }: AgentAdapter, { turns, forgotten }: Difference): EventDraft[] {
  if (turns.length === 0) return []
  const count = turns.length === 1 ? 'A turn was' : `${turns.length} turns were`
  const text = `${count} added from ${name}'s own program.`
  const held: EventDraft = { type: 'agent.noticed', level: 'info', code: 'outside-turns', text }
  if (forgotten === 0) return [held]
  const lost = forgotten === 1 ? 'the last prompt' : `the last ${forgotten} prompts`
  const warning = `In ${name}'s own program, the conversation continued from an earlier point: ${name} does not remember ${lost} above.`
  return [{ type: 'agent.noticed', level: 'warning', code: 'outside-branch', text: warning }, held]
}

function unknown({ name }: AgentAdapter): EventDraft {
  const text = `Messages exchanged in ${name}'s own program since the conversation was released are not shown here, because ${name} does not report them.`
  return { type: 'agent.noticed', level: 'warning', code: 'outside-unknown', text }
}

function unread({ name }: AgentAdapter, error: unknown, released: boolean): EventDraft {
  const text = `Messages from ${name}'s own program since the last turn are not shown here: its history could not be read (${messageOf(error)}).`
  return { type: 'agent.noticed', level: released ? 'warning' : 'info', code: 'outside-unknown', text }
}
