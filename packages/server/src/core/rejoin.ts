import { type EventDraft, messageOf, type SessionState } from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import { type Clock, type Ids, withTimeLimit } from './clock.ts'
import {
  type Difference,
  differenceOf,
  outsideDrafts,
  type RecordedTurn,
  recordedTurns,
} from './outside-turns.ts'
import type { Persist } from './persist.ts'

const readMs = 60_000

export type RejoinOptions = {
  readonly adapter: AgentAdapter | undefined
  readonly state: () => SessionState
  readonly persist: Persist
  readonly clock: Clock
  readonly ids: Ids
}

/**
 * A conversation may continue in the agent's own program while no process of ours holds it. Before the next turn,
 * when the agent is started again, its record is read, and what was said elsewhere is added to the log as outside
 * turns. If the record cannot be read, a notice says so.
 */
export class Rejoin {
  readonly #options: RejoinOptions
  /** The record was read, and no process of ours has held the conversation and released it since. */
  #isRead = false

  constructor(options: RejoinOptions) {
    this.#options = options
  }

  /** True if the record must be read before the conversation continues. */
  get isDue(): boolean {
    const { adapter, state } = this.#options
    const { connection, forkPending, released } = state()
    if (this.#isRead || !adapter || forkPending || connection?.agentSessionId === undefined) return false
    return adapter.capabilities.rejoin || released !== undefined
  }

  /** No process of ours holds the conversation any more, or the agent reported that something was said elsewhere. */
  forget(): void {
    this.#isRead = false
  }

  /**
   * Never throws: a record that cannot be read must not block the session. False: the agent has begun a turn of its own
   * meanwhile, so nothing was recorded, and the record must be read again.
   */
  async run({ wasReleased }: { wasReleased: boolean }): Promise<boolean> {
    const { adapter, state } = this.#options
    const { connection } = state()
    this.#isRead = true
    if (!adapter || connection?.agentSessionId === undefined) return true
    if (!adapter.capabilities.rejoin) return this.#notice(unknown(adapter))
    try {
      const difference = await this.#difference(adapter, connection.agentSessionId)
      const isRecorded = await this.#record(difference.turns, notices(adapter, difference))
      if (!isRecorded) this.forget()
      return isRecorded
    } catch (error) {
      return this.#notice(unread(adapter, error, wasReleased))
    }
  }

  async #difference(adapter: AgentAdapter, agentSessionId: string): Promise<Difference> {
    const { conversations: memory } = adapter
    if (!memory) throw new Error('it does not tell of its conversations')
    const record = await withTimeLimit(this.#options.clock, readMs, (signal) =>
      recordedTurns(memory.read(agentSessionId, signal)),
    )
    const { heard = [], lastTurn, createdAt } = this.#options.state()
    const ids = heard.map(
      ({ promptId, outsideId }) => outsideId ?? memory.idOf?.(agentSessionId, promptId) ?? promptId,
    )
    return differenceOf(record, ids, lastTurn?.endedAt ?? createdAt)
  }

  /** Records the turns and the notices about them together, or nothing if a turn is open. */
  async #record(turns: readonly RecordedTurn[], about: readonly EventDraft[]): Promise<boolean> {
    const { persist, ids, clock } = this.#options
    if (turns.length === 0) return true
    const events = await persist((state) => ({
      drafts: state.turn ? [] : [...about, ...outsideDrafts(state, turns, ids, clock.now())],
    }))
    if (!events) throw new Error('it could not be recorded')
    return events.length > 0
  }

  async #notice(draft: EventDraft): Promise<true> {
    await this.#options.persist(() => ({ drafts: [draft] }))
    return true
  }
}

function notices({ name }: AgentAdapter, { turns, forgotten }: Difference): EventDraft[] {
  if (turns.length === 0) return []
  const count = turns.length === 1 ? 'A turn was' : `${turns.length} turns were`
  const text = `${count} held in ${name} itself, outside of Parley.`
  const held: EventDraft = { type: 'agent.noticed', level: 'info', code: 'outside-turns', text }
  if (forgotten === 0) return [held]
  const lost = forgotten === 1 ? 'the last prompt' : `the last ${forgotten} prompts`
  const warning = `The conversation went on there from an earlier point: ${name} does not remember ${lost} above.`
  return [{ type: 'agent.noticed', level: 'warning', code: 'outside-branch', text: warning }, held]
}

function unknown({ name }: AgentAdapter): EventDraft {
  const text = `${name} does not tell Parley what was said in its own program since the conversation was released: it is not shown here.`
  return { type: 'agent.noticed', level: 'warning', code: 'outside-unknown', text }
}

function unread({ name }: AgentAdapter, error: unknown, released: boolean): EventDraft {
  const text = `What was said in ${name} itself since the last turn, if anything, is not shown here: its record could not be read (${messageOf(error)}).`
  return { type: 'agent.noticed', level: released ? 'warning' : 'info', code: 'outside-unknown', text }
}
