import {
  applyToState,
  backgroundTaskOf,
  emptyState,
  isBesideTurns,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'

/**
 * Checks the invariants of a log, which hold after any failure of processes and sockets. Returns a description of each
 * violation.
 */
export function logProblems(events: readonly SessionEvent[]): string[] {
  const check = new LogCheck()
  for (const event of events) check.take(event)
  return check.problems
}

type Open = { turnId: string | undefined; seq: number; parentToolCallId?: string | undefined }

class LogCheck {
  readonly problems: string[] = []
  #last = 0
  #turn: string | undefined
  readonly #endedTurns = new Set<string>()
  readonly #calls = new Map<string, Open>()
  readonly #endedCalls = new Set<string>()
  readonly #requests = new Map<string, Open>()
  readonly #settled = new Set<string>()
  readonly #prompts = new Map<string, 'submitted' | 'started' | 'withdrawn' | 'steered'>()
  readonly #written = new Set<string>()
  #state: SessionState = emptyState('', '')

  take(event: SessionEvent): void {
    if (event.seq !== this.#last + 1) this.#wrong(event, `follows ${this.#last}`)
    this.#last = event.seq
    this.#takeTask(event)
    // A snapshot after a turn is recorded when it is complete.
    const isBeside = event.type === 'snapshot.taken'
    if (event.turnId && this.#endedTurns.has(event.turnId) && !isBeside)
      this.#wrong(event, 'belongs to a turn that has ended')
    if (event.turnId && event.type !== 'turn.started' && event.turnId !== this.#turn && !isBeside) {
      this.#wrong(event, 'belongs to a turn that is not open')
    }
    this.#takeTurn(event)
    this.#takeCall(event)
    this.#takeRequest(event)
    this.#takePrompt(event)
    if (event.type === 'text.written' || event.type === 'thinking.written') {
      if (this.#written.has(event.blockId)) this.#wrong(event, 'writes a block a second time')
      this.#written.add(event.blockId)
    }
  }

  /** Checks that no call and no request of a background task is open when the task ends. */
  #takeTask(event: SessionEvent): void {
    if (event.type === 'task.updated' && event.status !== 'running') {
      const isOurs = (one: Open) => backgroundTaskOf(this.#state, one)?.taskId === event.taskId
      for (const [id, call] of this.#calls)
        if (isOurs(call)) this.#wrong(event, `leaves the call ${id} of the task open`)
      for (const [id, request] of this.#requests)
        if (isOurs(request)) this.#wrong(event, `leaves the request ${id} of the task open`)
    }
    this.#state = applyToState(this.#state, event)
  }

  #takeTurn(event: SessionEvent): void {
    if (event.type === 'turn.started') {
      if (this.#turn) this.#wrong(event, 'starts while a turn is open')
      this.#turn = event.turnId
    }
    if (event.type !== 'turn.ended') return
    if (!this.#turn) this.#wrong(event, 'ends no turn')
    for (const [id, call] of this.#calls)
      if (!isBesideTurns(this.#state, call)) this.#wrong(event, `leaves the call ${id} open`)
    for (const [id, request] of this.#requests)
      if (!isBesideTurns(this.#state, request)) this.#wrong(event, `leaves the request ${id} open`)
    if (this.#turn) this.#endedTurns.add(this.#turn)
    this.#turn = undefined
  }

  #takeCall(event: SessionEvent): void {
    if (event.type === 'tool-call.called') {
      const seen = this.#calls.has(event.toolCallId) || this.#endedCalls.has(event.toolCallId)
      if (seen) this.#wrong(event, 'is called a second time')
      const { turnId, seq, parentToolCallId } = event
      this.#calls.set(event.toolCallId, { turnId, seq, parentToolCallId })
    }
    if (event.type === 'tool-call.ended') {
      if (!this.#calls.delete(event.toolCallId)) this.#wrong(event, 'ends a call that is not open')
      this.#endedCalls.add(event.toolCallId)
    }
  }

  #takeRequest(event: SessionEvent): void {
    if (event.type === 'permission.requested' || event.type === 'question.asked') {
      if (this.#requests.has(event.requestId)) this.#wrong(event, 'is asked a second time')
      const { turnId, seq, parentToolCallId } = event
      this.#requests.set(event.requestId, { turnId, seq, parentToolCallId })
    }
    if (event.type === 'permission.resolved' || event.type === 'question.resolved') {
      if (!this.#requests.delete(event.requestId)) this.#wrong(event, 'resolves a request that is not open')
      if (this.#settled.has(event.requestId)) this.#wrong(event, 'resolves a request a second time')
      this.#settled.add(event.requestId)
    }
  }

  #takePrompt(event: SessionEvent): void {
    if (event.type === 'prompt.submitted') {
      if (this.#prompts.has(event.promptId)) this.#wrong(event, 'is submitted a second time')
      this.#prompts.set(event.promptId, event.turnId ? 'steered' : 'submitted')
    }
    if (event.type === 'prompt.moved' && this.#prompts.get(event.promptId) !== 'submitted')
      this.#wrong(event, 'moves a prompt that does not wait')
    if (event.type === 'prompt.queued' && this.#prompts.get(event.promptId) === 'steered')
      this.#prompts.set(event.promptId, 'submitted')
    if (event.type === 'prompt.taken') {
      if (!['steered', 'submitted'].includes(this.#prompts.get(event.promptId) ?? ''))
        this.#wrong(event, 'takes a prompt that was not steered')
      this.#prompts.set(event.promptId, 'started')
    }
    if (event.type !== 'turn.started' && event.type !== 'prompt.withdrawn') return
    if (event.promptId === undefined) return
    const isOpen = event.type === 'prompt.withdrawn' ? ['submitted', 'steered'] : ['submitted']
    if (!isOpen.includes(this.#prompts.get(event.promptId) ?? ''))
      this.#wrong(event, 'takes a prompt that does not wait')
    this.#prompts.set(event.promptId, event.type === 'turn.started' ? 'started' : 'withdrawn')
  }

  #wrong(event: SessionEvent, what: string): void {
    this.problems.push(`${event.seq} ${event.type} ${what}`)
  }
}
