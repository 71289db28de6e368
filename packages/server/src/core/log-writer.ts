import type { AgentOutput } from '@parley/adapter-kit'
import {
  applyToState,
  type EventDraft,
  type PromptPart,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'
import type { Ids } from './clock.ts'
import { endTurn } from './end-turn.ts'
import { draftsOf, freshProgress, isDelta } from './record-output.ts'
import { type Sealer, saltOf } from './seal-chain.ts'
import { numbered } from './session-log.ts'
import type { StoredEvent } from './session-store.ts'

const importedEnd = { outcome: 'completed', stopReason: 'imported' } as const

/** Writes events by the rules of a live log, for sessions that are created, copied or read from an agent's record. */
export class LogWriter {
  readonly drafts: EventDraft[] = []
  readonly events: SessionEvent[] = []
  #state: SessionState
  #progress = freshProgress()

  readonly #sealer: Sealer | undefined

  constructor(state: SessionState, sealer?: Sealer) {
    this.#state = state
    this.#sealer = sealer
  }

  get state(): SessionState {
    return this.#state
  }

  get stored(): StoredEvent[] {
    return this.events.map((event) => ({ seq: event.seq, json: JSON.stringify(event) }))
  }

  add(at: number, ...drafts: readonly EventDraft[]): void {
    for (const draft of drafts) {
      const event = numbered(draft, this.#state.id, this.#state.seq + 1, at, saltOf(draft, this.#sealer))
      this.#state = applyToState(this.#state, event)
      this.drafts.push(draft)
      this.events.push(event)
    }
  }

  /** The start of a turn with this prompt. `outside` is set if the prompt was given in the agent's own program. */
  startTurn(
    at: number,
    ids: Ids,
    prompt: { readonly parts: readonly PromptPart[]; readonly outside?: { at?: number; id?: string } },
  ): void {
    const [promptId, parts] = [ids('prm'), [...prompt.parts]]
    const { outside } = prompt
    this.#progress = freshProgress()
    this.add(
      at,
      { type: 'prompt.submitted', promptId, parts, delivery: 'queue', ...(outside && { outside }) },
      { type: 'turn.started', turnId: ids('trn'), promptId },
    )
  }

  addOutput(at: number, ids: Ids, output: AgentOutput): void {
    if (output.type === 'native' || isDelta(output)) return
    if (output.type === 'turn.started' || output.type === 'prompt.taken') return
    const connectionId = this.#state.connection?.connectionId ?? ''
    const { drafts, commit } = draftsOf(output, this.#state, this.#progress, { now: at, connectionId, ids })
    this.add(at, ...drafts)
    commit()
  }

  endTurn(at: number): void {
    this.add(at, ...endTurn(this.#state, importedEnd, at))
  }
}
