import type { AgentOutput } from '@parley/adapter-kit'
import type { DeltaDraft, TurnCause } from '@parley/protocol'
import type { AcceptedSteers } from './accepted-steers.ts'
import type { AgentEnd, AgentLink } from './agent-link.ts'
import { endTurn, invalidEnd } from './end-turn.ts'
import { otherTools } from './host-tool.ts'
import type { HostToolCalls } from './host-tool-calls.ts'
import {
  beginsOwnTurn,
  belongsToNoTurn,
  closeCall,
  deltaOf,
  draftsOf,
  freshProgress,
  isDelta,
  progressAfter,
  type RecordedOutput,
  type TurnProgress,
} from './record-output.ts'
import type { SessionContext } from './session-services.ts'
import * as turns from './turn-transactions.ts'

export type OutputParts = {
  readonly context: SessionContext
  readonly toolCalls: HostToolCalls
  readonly accepted: AcceptedSteers
}

const outputsBetweenPauses = 128

/**
 * Reads the outputs of a connection until they end, and records them in order. Reading pauses until the previous
 * output is stored. Never rejects.
 */
export async function readOutputs(link: AgentLink, parts: OutputParts): Promise<AgentEnd> {
  const { clock } = parts.context.services
  const recorder = new OutputRecorder(link, parts)
  let last: AgentEnd['last']
  let count = 0
  try {
    for await (const output of link.connection.events) {
      if (output.type === 'agent.disconnected') last = output
      else if (!link.closing) {
        const pending = recorder.record(output)
        if (pending) await pending
      }
      if (++count % outputsBetweenPauses === 0) await clock.yieldToIo()
    }
    return { last }
  } catch (error) {
    return { last, error }
  }
}

class OutputRecorder {
  readonly #link: AgentLink
  readonly #parts: OutputParts
  readonly #context: SessionContext
  #progress = freshProgress()
  #turnId: string | undefined
  readonly #turnlessProgress = freshProgress(this.#progress.closed)

  constructor(link: AgentLink, parts: OutputParts) {
    this.#link = link
    this.#parts = parts
    this.#context = parts.context
    // The open calls of a parked turn belong to an earlier process, and end when the turn is resumed. They therefore
    // count as closed from the start.
    for (const block of this.#context.log.state.openBlocks)
      if (block.type === 'tool-call' && block.called) this.#progress.closed.close(block.id, block.title)
  }

  /**
   * Records one output. Returns undefined if the output was recorded synchronously, so that a flood of deltas
   * allocates no promises.
   */
  record(output: AgentOutput): Promise<void> | undefined {
    const { log } = this.#context
    if (output.type === 'native') {
      log.native(output.message)
      return
    }
    const steersRecorded = this.#parts.accepted.before(output)
    if (steersRecorded) return steersRecorded.then(() => this.record(output))
    if (output.type === 'turn.started') return this.#startOwnTurn(output.cause)
    if (output.type === 'prompt.taken') return this.#promptTaken(output.promptId)
    if (beginsOwnTurn(output, log.state)) return this.#startOwnTurn().then(() => this.#place(output))
    return this.#place(output)
  }

  #place(output: DeltaDraft | RecordedOutput): Promise<void> | undefined {
    const { log } = this.#context
    if (!isDelta(output))
      return this.#store(this.#context.checkedCalls.marked(this.#parts.toolCalls.withResult(output)))
    const delta = deltaOf(output, log.state, this.#progressFor(output))
    const wait = delta && log.stream(delta)
    return wait?.then(() => this.record(output))
  }

  #progressFor(output: AgentOutput): TurnProgress {
    const { state } = this.#context.log
    if (state.turn?.turnId !== this.#turnId) {
      this.#turnId = state.turn?.turnId
      this.#progress = progressAfter(this.#progress, state, this.#turnlessProgress)
    }
    if (belongsToNoTurn(output, state)) return this.#turnlessProgress
    closeCall(this.#turnlessProgress, state, output)
    return this.#progress
  }

  async #startOwnTurn(cause?: TurnCause): Promise<void> {
    const { persist, services } = this.#context
    await persist((state) => turns.startOwn(state, services.ids('trn'), cause))
  }

  async #promptTaken(promptId: string): Promise<void> {
    await this.#context.persist((state) => turns.takeUp(state, promptId))
  }

  async #store(output: RecordedOutput): Promise<void> {
    const { connectionId } = this.#link
    const { persist, services } = this.#context
    const { clock, ids } = services
    const progress = this.#progressFor(output)
    let commit: () => void = () => undefined
    const recorded = await persist((state) => {
      const step = draftsOf(output, state, progress, { now: clock.now(), connectionId, ids })
      commit = step.commit
      return { drafts: step.drafts }
    })
    if (recorded) {
      commit()
      return this.#checkTools(output)
    }
    const reason = 'could not be recorded in its original form'
    await persist((state) => ({
      drafts: [
        { type: 'agent.unrecognised', native: { type: output.type }, reason },
        ...(output.type === 'turn.ended' ? endTurn(state, invalidEnd, clock.now()) : []),
      ],
    }))
  }

  /** In a session with hostToolsOnly: checks that the agent reports no tools but those of the host. */
  async #checkTools(output: AgentOutput): Promise<void> {
    if (output.type !== 'agent.connected' || !this.#link.settings.options?.hostToolsOnly) return
    const { persist, services, hostTools } = this.#context
    const others = otherTools(output.tools ?? [], hostTools)
    if (others.length === 0) return
    await persist((state) => turns.endForTools(state, others, services.clock.now()))
    void this.#link.close('closed')
  }
}
