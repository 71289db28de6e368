import { type Answers, type EventOf, requestedDiffs } from '@parley/protocol'
import type { Call, TurnCalls } from './turn-calls.ts'
import type { TurnSteps } from './turn-steps.ts'
import { questionTool, type UiChunk } from './ui-chunk.ts'

type Asked = EventOf<'permission.requested'> | EventOf<'question.asked'>
type Resolved = EventOf<'permission.resolved'> | EventOf<'question.resolved'>

export type TurnRequest = {
  readonly asked: Asked
  readonly parts: string[]
  resolved?: Resolved
  responded?: true
}

const unanswered = 'Nobody answered.'

export type RequestsParts = {
  readonly emit: (chunk: UiChunk) => void
  readonly steps: TurnSteps
  readonly calls: () => TurnCalls
  /** Called before a new step, because readers of AI SDK 6 drop open texts there. */
  readonly closeTexts: () => void
  readonly knowsResponses: boolean
}

/**
 * The requests of a turn, as approvals and as the tool `question`. A page sends its answers only if all open requests
 * are in the last step, so a new step repeats the open requests as placeholders.
 */
export class TurnRequests {
  readonly #parts: RequestsParts
  readonly #requests = new Map<string, TurnRequest>()
  readonly #open = new Set<TurnRequest>()

  constructor(parts: RequestsParts) {
    this.#parts = parts
  }

  get all(): ReadonlyMap<string, TurnRequest> {
    return this.#requests
  }

  get waiting(): boolean {
    return this.#open.size > 0
  }

  ask(asked: Asked): void {
    const request: TurnRequest = { asked, parts: [] }
    this.#requests.set(asked.requestId, request)
    this.#put(request)
    this.#open.add(request)
  }

  resolve(resolved: Resolved): void {
    const request = this.#requests.get(resolved.requestId)
    if (!request || request.resolved) return
    request.resolved = resolved
    this.#open.delete(request)
    if (resolved.type === 'permission.resolved') this.#decided(request, resolved)
    else this.#answered(request, resolved)
    this.#parts.calls().promote()
  }

  /** Refuses the open permissions of a call that has ended before a person answered them. */
  lapse(call: Call): void {
    for (const request of this.#open) {
      if (request.asked.type === 'permission.requested' && request.parts.includes(call.id)) {
        this.#respond(request, false, unanswered)
      }
    }
  }

  #decided(request: TurnRequest, resolved: EventOf<'permission.resolved'>): void {
    const { outcome, message } = resolved
    this.#parts.emit(decisionData(resolved))
    const allowed = outcome === 'allowed'
    const isAnswer = allowed || outcome === 'denied'
    this.#respond(request, allowed, isAnswer ? message : unanswered)
    for (const call of this.#callsOf(request)) {
      call.asking = false
      call.allowed = allowed
      if (call.placeholder) this.#parts.calls().settle(call, decisionChunk(call.id, allowed))
    }
  }

  /** Sends the answer to a request, once. A second answer would reopen a part that is already settled. */
  #respond(request: TurnRequest, approved: boolean, reason: string | undefined): void {
    if (request.responded || !this.#parts.knowsResponses) return
    request.responded = true
    const { requestId: approvalId } = request.asked
    const why = reason !== undefined && { reason }
    this.#parts.emit({ type: 'tool-approval-response', approvalId, approved, ...why })
  }

  #answered(request: TurnRequest, { outcome, answers }: EventOf<'question.resolved'>): void {
    for (const call of this.#callsOf(request)) {
      call.asking = false
      if (!call.settled) this.#parts.calls().settle(call, answerChunk(call.id, outcome, answers))
    }
    this.#parts.steps.answerCame()
    if (this.waiting) this.#nextStep()
  }

  #callsOf({ parts }: TurnRequest): Call[] {
    return parts.flatMap((id) => this.#parts.calls().get(id) ?? [])
  }

  #nextStep(): void {
    this.#parts.closeTexts()
    for (const request of this.#open) this.#takeBack(request)
    this.#parts.steps.next()
    for (const request of this.#open) this.#put(request)
  }

  /**
   * Settles the earlier parts of a question that is asked again. A question is answered in one part, which must be
   * the last one. An approval applies to all parts that ask for it, so the parts of a permission are unchanged.
   */
  #takeBack(request: TurnRequest): void {
    if (request.asked.type !== 'question.asked') return
    for (const call of this.#callsOf(request)) {
      const errorText = 'Asked again below.'
      const chunk: UiChunk = { type: 'tool-output-error', toolCallId: call.id, errorText }
      if (!call.settled) this.#parts.calls().settle(call, chunk)
    }
  }

  #put(request: TurnRequest): void {
    const { asked } = request
    const call = this.#partFor(request)
    call.asking = true
    request.parts.push(call.id)
    if (asked.type === 'question.asked') return
    call.asked = true
    if (request.parts.length === 1) this.#parts.emit(permissionData(asked))
    const { requestId: approvalId } = asked
    this.#parts.emit({ type: 'tool-approval-request', approvalId, toolCallId: call.id })
  }

  /** A part in the last step, with no running calls beside it: the part of the call if possible, else a placeholder. */
  #partFor(request: TurnRequest): Call {
    const { asked } = request
    const calls = this.#parts.calls()
    const { toolCallId, parentToolCallId } = asked
    const known = toolCallId === undefined ? undefined : calls.get(toolCallId)
    const shape = shapeOf(asked, known)
    if (known && !known.settled && known.step === undefined) {
      this.#makeRoom()
      calls.show(Object.assign(known, shape))
      return known
    }
    const stands = known && !known.settled && known.step === this.#parts.steps.current
    if (stands && !calls.isCrowded(known) && !known.asking && !this.#parts.steps.mustLeave) {
      const isNews = shape.question || !known.called
      Object.assign(known, shape)
      if (isNews) calls.refresh(known)
      return known
    }
    this.#makeRoom()
    const isUnknown = toolCallId !== undefined && !known
    const id = isUnknown ? toolCallId : this.#freeId(asked.requestId)
    const parent = isUnknown ? parentToolCallId : (toolCallId ?? parentToolCallId)
    const call = calls.add({ ...asPart(asked), ...shape, id, parent, placeholder: !isUnknown })
    calls.show(call)
    return call
  }

  #makeRoom(): void {
    const { steps } = this.#parts
    if (steps.current === 0 || steps.mustLeave || this.#parts.calls().isCrowded()) this.#nextStep()
  }

  #freeId(requestId: string): string {
    for (let count = 1; ; count++) {
      const id = count === 1 ? requestId : `${requestId}:${count}`
      if (!this.#parts.calls().get(id)) return id
    }
  }
}

/** The fields of a permission request that an approval of the AI SDK lacks. */
export function permissionData(asked: EventOf<'permission.requested'>): UiChunk {
  const { requestId, toolCallId, parentToolCallId, tool, kind, title, reason, readOnly, options } = asked
  const about = { requestId, toolCallId, parentToolCallId, tool, kind, title, reason, readOnly, options }
  const diffs = requestedDiffs(asked)
  const data = { ...about, ...(diffs.length > 0 && { diffs }) }
  return { type: 'data-permission', id: requestId, data }
}

/** The fields of a decision that an approval of the AI SDK lacks. */
export function decisionData(resolved: EventOf<'permission.resolved'>): UiChunk {
  const { requestId, outcome, scope, by, message, input, endTurn } = resolved
  const data = { requestId, outcome, scope, by, message, input, endTurn }
  return { type: 'data-decision', id: requestId, data }
}

type Shape = Pick<Call, 'name' | 'title' | 'input' | 'question'>

/**
 * The changes that a request makes to the part of its call. A permission does not change a call that was already made.
 */
function shapeOf(asked: Asked, known: Call | undefined): Partial<Shape> {
  if (asked.type === 'permission.requested' && known?.called) return {}
  return { ...asPart(asked), ...(known?.title !== undefined && { title: known.title }) }
}

function asPart(asked: Asked): Shape {
  if (asked.type === 'permission.requested') {
    const { tool: name, title, input } = asked
    return { name, title, input, question: false }
  }
  const { questions } = asked
  return { name: questionTool, title: questions[0]?.header, input: { questions }, question: true }
}

function decisionChunk(toolCallId: string, allowed: boolean): UiChunk {
  if (!allowed) return { type: 'tool-output-denied', toolCallId }
  return { type: 'tool-output-available', toolCallId, output: { outcome: 'allowed' } }
}

function answerChunk(
  toolCallId: string,
  outcome: EventOf<'question.resolved'>['outcome'],
  answers: Answers | undefined,
): UiChunk {
  if (outcome === 'answered') {
    return { type: 'tool-output-available', toolCallId, output: { answers: answers ?? {} } }
  }
  return { type: 'tool-output-error', toolCallId, errorText: 'The question was not answered.' }
}
