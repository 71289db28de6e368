import {
  type Actor,
  type EventOf,
  type PermissionResolution,
  readOnlyKinds,
  type SessionEvent,
  type ToolOutcome,
  unredacted,
} from '@parley/protocol'

/**
 * The source of the decision that a call may run.
 * - person, rule, mode: an allowed decision in the log.
 * - agent: the agent approved the call itself, after Parley had found that neither a rule nor the mode refuses it.
 * - reading: the call only reads, and its agent does not report such calls before they run.
 * - outside: the call ran in the agent's own program.
 * - nobody: the call ran, and none of these applies.
 */
export type DecidedBy = 'person' | 'rule' | 'mode' | 'agent' | 'reading' | 'outside' | 'nobody'

export type VerifiedCall = {
  readonly seq: number
  readonly toolCallId: string
  readonly tool: string
  readonly outcome: ToolOutcome | 'unknown'
  readonly by: DecidedBy
  readonly actor?: Actor
  readonly ruleId?: string
  readonly inputHash?: string
  readonly requestId?: string
  /** The seq of the decision. */
  readonly decidedAt?: number
  /** The id of the browser's key that signed the decision. */
  readonly signedBy?: string
}

type Request = Pick<EventOf<'permission.requested'>, 'requestId' | 'inputHash' | 'toolCallId'>
type Decision = PermissionResolution & { readonly seq: number; readonly actor?: Actor | undefined }

/** Collects the calls of a log that ran, with the decision on each of them. */
export class CallList {
  readonly #called = new Map<string, EventOf<'tool-call.called'>>()
  readonly #requests = new Map<string, Request>()
  readonly #decisions = new Map<string, { readonly request: Request; readonly decision: Decision }[]>()
  readonly #outsideTurns = new Set<string>()
  readonly #outsidePrompts = new Set<string>()
  #isImported = false
  #isConnected = false
  readonly #list: VerifiedCall[] = []

  take(given: SessionEvent): void {
    const event = unredacted(given)
    if (event.type === 'session.created') this.#isImported = event.importedFrom !== undefined
    if (event.type === 'agent.connected') this.#connected(event)
    if (event.type === 'agent.disconnected') this.#isConnected = false
    if (event.type === 'prompt.submitted' && event.outside) this.#outsidePrompts.add(event.promptId)
    if (event.type === 'turn.started' && event.turnId && this.#outsidePrompts.has(event.promptId ?? ''))
      this.#outsideTurns.add(event.turnId)
    if (event.type === 'permission.requested') this.#requests.set(event.requestId, event)
    if (event.type === 'permission.resolved') this.#decided(event)
    if (event.type === 'tool-call.called') this.#called.set(event.toolCallId, event)
    if (event.type === 'tool-call.ended') this.#ended(event)
  }

  /** The calls that ran, and the decided calls whose end is not known. */
  get list(): readonly VerifiedCall[] {
    const open = [...this.#called.values()].map((call) => this.#described(call, 'unknown'))
    return [...this.#list, ...open.filter(({ by }) => by !== 'nobody')]
  }

  /**
   * Detects the end of an import. Its first connection only records the conversation; the next connection is a real
   * start.
   */
  #connected({ seq, connectionId }: EventOf<'agent.connected'>): void {
    this.#isConnected = true
    if (connectionId !== undefined && seq > 2) this.#isImported = false
  }

  #decided(event: EventOf<'permission.resolved'>): void {
    const request = this.#requests.get(event.requestId)
    if (!request?.toolCallId) return
    const before = this.#decisions.get(request.toolCallId) ?? []
    this.#decisions.set(request.toolCallId, [...before, { request, decision: event as Decision }])
  }

  #ended(event: EventOf<'tool-call.ended'>): void {
    const call = this.#called.get(event.toolCallId)
    this.#called.delete(event.toolCallId)
    if (!call || event.outcome === 'denied') return
    // The host ends the calls of an agent that was lost, and does not know whether they ran.
    const isLost = event.outcome === 'failed' && !this.#isConnected
    const described = this.#described(call, isLost ? 'unknown' : event.outcome, event.checked)
    // A completed call ran, even if no decision allowed it. A failed call counts as run if no decision on it is recorded.
    const hasFailed = event.outcome === 'failed' && !isLost
    const ran = event.outcome === 'completed' || (hasFailed && !this.#decisions.has(call.toolCallId))
    if (described.by !== 'nobody' || ran) this.#list.push(described)
    this.#decisions.delete(call.toolCallId)
  }

  #described(
    call: EventOf<'tool-call.called'>,
    outcome: VerifiedCall['outcome'],
    checked?: string,
  ): VerifiedCall {
    const { seq, toolCallId, name: tool } = call
    const about = { seq, toolCallId, tool, outcome }
    const decided = this.#decisions.get(toolCallId) ?? []
    const last = decided.at(-1)
    if (last?.decision.outcome === 'allowed') {
      const { request, decision } = last
      const { by, actor, ruleId, seq: decidedAt } = decision
      const { inputHash, requestId } = request
      return {
        ...about,
        by: by === 'rule' || by === 'mode' ? by : 'person',
        inputHash,
        requestId,
        decidedAt,
        ...(actor && { actor }),
        ...(ruleId !== undefined && { ruleId }),
        ...(decision.signature && { signedBy: decision.signature.keyId }),
      }
    }
    if (last) return { ...about, by: 'nobody' }
    if (checked !== undefined) return { ...about, by: 'agent', inputHash: checked }
    if (this.#isImported || this.#outsideTurns.has(call.turnId ?? '')) return { ...about, by: 'outside' }
    return { ...about, by: isReading(call) ? 'reading' : 'nobody' }
  }
}

/** Kinds of calls that start or plan work. The work itself is recorded as separate calls. */
const organising: ReadonlySet<string> = new Set(['plan', 'subagent'])

function isReading({ kind }: EventOf<'tool-call.called'>): boolean {
  return readOnlyKinds.has(kind) || organising.has(kind)
}
