import { type Delta, defined, type EventOf } from '@parley/protocol'
import { errorOf, filesOf, outputOf } from './tool-output.ts'
import type { TurnSteps } from './turn-steps.ts'
import type { ToolNames, UiChunk } from './ui-chunk.ts'

/** A tool part and the call behind it. */
export type Call = {
  /** The id of the part. It is the id of the call itself, except for a placeholder. */
  readonly id: string
  readonly parent: string | undefined
  /** True if the part shows a request in the last step because the call's own part cannot. */
  readonly placeholder: boolean
  name: string
  title: string | undefined
  input: unknown
  called: boolean
  /** The step that contains the part, once the part was sent. */
  step: number | undefined
  settled: boolean
  /** True while the part waits for the person. */
  asking: boolean
  /** True if the part has an approval, answered or not. */
  asked: boolean
  allowed: boolean
  /** True if the call asks the person a question. The page then provides its output. */
  question: boolean
  inputSent: number
  output: string
  outputSent: number
}

type DeltaOf<Type extends Delta['type']> = Extract<Delta, { type: Type }>
export type CallsParts = {
  readonly emit: (chunk: UiChunk) => void
  readonly steps: TurnSteps
  readonly waiting: () => boolean
  readonly writing: () => boolean
  /** Called when the call has ended while its part still waits. */
  readonly lapse: (call: Call) => void
}

/**
 * The tool calls of a turn as parts of its message. Only one running call is shown at a time. Another call of the main
 * agent gets its part when no running call is shown, when it asks or when it ends. A request can therefore be in the
 * last step with no running call beside it; a page that uses the AI SDK unchanged sends an answer only then. Calls of
 * subagents get a part only when they ask.
 */
export class TurnCalls {
  readonly #parts: CallsParts
  readonly #calls = new Map<string, Call>()
  /** Calls that were made and have not ended. */
  readonly running = new Set<Call>()
  readonly #shown = new Set<Call>()
  readonly #held = new Set<Call>()

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  get(id: string): Call | undefined {
    return this.#calls.get(id)
  }

  /** True if the input of a part is still being written. */
  get drafting(): boolean {
    return [...this.#shown].some((call) => !call.called)
  }

  add(call: Pick<Call, 'id' | 'name' | 'title' | 'input'> & Partial<Call>): Call {
    const whole: Call = {
      parent: undefined,
      placeholder: false,
      called: false,
      step: undefined,
      settled: false,
      asking: false,
      asked: false,
      allowed: false,
      question: false,
      inputSent: 0,
      output: '',
      outputSent: 0,
      ...call,
    }
    this.#calls.set(whole.id, whole)
    return whole
  }

  drafted({ toolCallId, name, title, parentToolCallId }: DeltaOf<'tool-call.drafted'>): void {
    // A reader that joins late may get output of a call whose start it missed. Such a call is announced with an empty
    // name, and is ignored.
    if (name === '' || parentToolCallId || this.#calls.has(toolCallId) || !this.#canShowAnother()) return
    const call = this.add({ id: toolCallId, name, title, input: undefined })
    this.#parts.steps.begin(this.#parts.writing())
    this.#place(call)
    this.#parts.emit({ type: 'tool-input-start', ...namesOf(call) })
  }

  inputStreamed({ toolCallId, offset, text }: DeltaOf<'tool-call.input-streamed'>): void {
    const call = this.#calls.get(toolCallId)
    if (!call || call.called || call.step === undefined || offset > call.inputSent) return
    const inputTextDelta = text.slice(call.inputSent - offset)
    if (inputTextDelta === '') return
    call.inputSent += inputTextDelta.length
    this.#parts.emit({ type: 'tool-input-delta', toolCallId, inputTextDelta })
  }

  called(event: EventOf<'tool-call.called'>): void {
    const { toolCallId, name, title, input, parentToolCallId: parent } = event
    const call = this.#calls.get(toolCallId) ?? this.add({ id: toolCallId, name, title, input, parent })
    if (!call.question) Object.assign(call, { name, title, input })
    const asked = call.called
    call.called = true
    this.running.add(call)
    if (call.step !== undefined) return asked ? undefined : this.refresh(call)
    if (parent) return this.reveal(parent)
    if (!this.#canShowAnother()) return void this.#held.add(call)
    this.#parts.steps.begin(this.#parts.writing())
    this.show(call)
  }

  updated({ toolCallId, title, input, content }: EventOf<'tool-call.updated'>): void {
    const call = this.#calls.get(toolCallId)
    if (!call || call.settled || call.question) return
    Object.assign(call, { ...(title !== undefined && { title }), ...(input !== undefined && { input }) })
    // A part can be refreshed only in the last step. A part with an approval is not refreshed, because it
    // would lose the approval.
    const renewable = call.step === this.#parts.steps.current && !call.asked
    if (renewable && call.outputSent === 0 && (title !== undefined || input !== undefined)) this.refresh(call)
    if (content !== undefined && this.#mayPreview(call)) this.#preview(call, outputOf(content), 1)
  }

  outputStreamed({ toolCallId, offset, text }: DeltaOf<'tool-call.output-streamed'>): void {
    const call = this.#calls.get(toolCallId)
    if (!call || offset > call.output.length) return
    call.output += text.slice(call.output.length - offset)
    // Each update contains the whole output, so an update is sent only when the output has grown by a share of its
    // length. Otherwise the total would grow quadratically.
    const hasGrown = call.outputSent === 0 || call.output.length > 1.25 * call.outputSent + 200
    if (call.output !== '' && hasGrown && this.#mayPreview(call)) {
      this.#preview(call, call.output, call.output.length)
    }
  }

  ended(event: EventOf<'tool-call.ended'>): void {
    const call = this.#calls.get(event.toolCallId)
    if (!call) return
    this.running.delete(call)
    if (call.settled) return
    if (call.step === undefined && call.parent) {
      call.settled = true
      return
    }
    if (call.step === undefined) {
      if (this.#parts.steps.current === 0) this.#parts.steps.next()
      this.show(call)
    }
    if (call.asking) this.#parts.lapse(call)
    this.settle(call, resultChunk(event, call))
    for (const file of filesOf(event.content)) this.#parts.emit(file)
  }

  /** Settles the part of a call that was drafted and never made. */
  dropped(id: string): void {
    const call = this.#calls.get(id)
    if (!call || call.called || call.settled || call.step === undefined) return
    const errorText = 'The call did not run.'
    this.settle(call, { type: 'tool-input-error', ...namesOf(call), input: null, errorText })
  }

  dropDrafts(): void {
    for (const call of [...this.#shown]) this.dropped(call.id)
  }

  /**
   * Called at the end of the turn, when nothing waits or runs any more. Also settles requests for calls that were
   * never made.
   */
  end(): void {
    this.dropDrafts()
    for (const call of [...this.#shown]) {
      const { id: toolCallId, asked, allowed } = call
      if (call.asking) this.#parts.lapse(call)
      const errorText = 'The turn ended without a result.'
      const isDenied = asked && !allowed
      this.settle(
        call,
        isDenied
          ? { type: 'tool-output-denied', toolCallId }
          : { type: 'tool-output-error', toolCallId, errorText },
      )
    }
  }

  /** Shows a held call when the subagent that it started has output. */
  reveal(id: string): void {
    const call = this.#calls.get(id)
    if (call && this.#held.has(call)) this.show(call)
  }

  show(call: Call): void {
    this.#place(call)
    this.refresh(call)
  }

  /** Sends the part again with its current data. A reader refuses a call without any input. */
  refresh(call: Call): void {
    call.called = true
    this.#parts.emit({ type: 'tool-input-available', ...namesOf(call), input: call.input ?? null })
  }

  settle(call: Call, chunk: UiChunk): void {
    this.#parts.emit(chunk)
    call.settled = true
    call.asking = false
    this.#shown.delete(call)
    this.#parts.steps.resultCame()
    this.promote()
  }

  /** Shows the next held call. */
  promote(): void {
    const [next] = this.#held
    if (next && this.#canShowAnother()) this.show(next)
  }

  /** True if another call in the last step still runs and does not ask. */
  isCrowded(but?: Call): boolean {
    const { current } = this.#parts.steps
    return [...this.#shown].some((call) => call.step === current && !call.asking && call !== but)
  }

  /** True if everything that runs waits for the person, or for a subagent that waits for the person. */
  get onlyAsks(): boolean {
    const waiting = new Set<string>()
    for (const call of this.#shown) {
      if (!call.asking) continue
      for (let id: string | undefined = call.id; id; id = this.#calls.get(id)?.parent) waiting.add(id)
    }
    return [...this.running].every((call) => waiting.has(call.id))
  }

  #place(call: Call): void {
    this.#held.delete(call)
    this.#shown.add(call)
    call.step = this.#parts.steps.current
  }

  #canShowAnother(): boolean {
    return this.#shown.size === 0 && !this.#parts.waiting()
  }

  #mayPreview(call: Call): boolean {
    const runs = call.called && call.step !== undefined && !call.settled
    return runs && !call.asking && !call.question && !this.#parts.waiting()
  }

  #preview(call: Call, output: unknown, sent: number): void {
    call.outputSent = sent
    this.#parts.emit({ type: 'tool-output-available', toolCallId: call.id, output, preliminary: true })
  }
}

export function namesOf(call: Call): ToolNames {
  const { id, name, title, question } = call
  return defined({
    toolCallId: id,
    toolName: name,
    title,
    dynamic: true as const,
    providerExecuted: !question,
  })
}

function resultChunk(event: EventOf<'tool-call.ended'>, { asked, allowed }: Call): UiChunk {
  const { toolCallId, outcome, content } = event
  if (outcome === 'completed') return { type: 'tool-output-available', toolCallId, output: outputOf(content) }
  // With an approval, only an allowed call can fail. Without an approval, a denied call is shown as failed, with the
  // reason.
  if (asked && !allowed) return { type: 'tool-output-denied', toolCallId }
  return { type: 'tool-output-error', toolCallId, errorText: errorOf(event) }
}
