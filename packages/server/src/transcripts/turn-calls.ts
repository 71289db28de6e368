import type { Delta, EventOf } from '@parley/protocol'
import { errorOf, filesOf, outputOf } from './tool-output.ts'
import type { TurnSteps } from './turn-steps.ts'
import type { ToolNames, UiChunk } from './ui-chunk.ts'

/** A tool part, and the call behind it. */
export type Call = {
  /** Of the part; that of the call itself, but for a stand-in. */
  readonly id: string
  readonly parent: string | undefined
  /** Shows a request that has no part of its own where the page looks for it. */
  readonly standIn: boolean
  name: string
  title: string | undefined
  input: unknown
  called: boolean
  /** Where its part stands, once it has one. */
  step: number | undefined
  settled: boolean
  /** Its part waits for the person. */
  asking: boolean
  /** Its part has an approval, given or not. */
  asked: boolean
  allowed: boolean
  /** It asks the person something: the page gives its output. */
  question: boolean
  inputSent: number
  output: string
  outputSent: number
}

type DeltaOf<Type extends Delta['type']> = Extract<Delta, { type: Type }>
export type CallsParts = {
  readonly emit: (chunk: UiChunk) => void
  readonly steps: TurnSteps
  /** Something waits for the person now. */
  readonly waiting: () => boolean
  readonly writing: () => boolean
  /** The call is over, and its part still waits. */
  readonly lapse: (call: Call) => void
}

/**
 * The tool calls of a turn as parts of its message. One call at a time has the stage: another one of the main line gets its
 * part when the stage is free, when it asks or when it ends. So whatever asks can stand in the last step with nothing
 * beside it that still runs, and only there do stock pages send an answer. Calls of subagents get a part only when they ask.
 */
export class TurnCalls {
  readonly #parts: CallsParts
  readonly #calls = new Map<string, Call>()
  /** Called, and without an end. */
  readonly running = new Set<Call>()
  readonly #shown = new Set<Call>()
  readonly #held = new Set<Call>()

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  get(id: string): Call | undefined {
    return this.#calls.get(id)
  }

  /** A part whose input is still being written. */
  get drafting(): boolean {
    return [...this.#shown].some((call) => !call.called)
  }

  add(call: Pick<Call, 'id' | 'name' | 'title' | 'input'> & Partial<Call>): Call {
    const whole: Call = {
      parent: undefined,
      standIn: false,
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
    // a reader that joins hears of an output whose call nobody has seen as a draft without a name
    if (name === '' || parentToolCallId || this.#calls.has(toolCallId) || !this.#stageIsFree()) return
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
    if (!this.#stageIsFree()) return void this.#held.add(call)
    this.#parts.steps.begin(this.#parts.writing())
    this.show(call)
  }

  updated({ toolCallId, title, input, content }: EventOf<'tool-call.updated'>): void {
    const call = this.#calls.get(toolCallId)
    if (!call || call.settled || call.question) return
    Object.assign(call, { ...(title !== undefined && { title }), ...(input !== undefined && { input }) })
    // a part can be renewed only where it stands in the last step, and would lose what it waits for
    const renewable = call.step === this.#parts.steps.current && !call.asked
    if (renewable && call.outputSent === 0 && (title !== undefined || input !== undefined)) this.refresh(call)
    if (content !== undefined && this.#mayPreview(call)) this.#preview(call, outputOf(content), 1)
  }

  outputStreamed({ toolCallId, offset, text }: DeltaOf<'tool-call.output-streamed'>): void {
    const call = this.#calls.get(toolCallId)
    if (!call || offset > call.output.length) return
    call.output += text.slice(call.output.length - offset)
    // the whole output goes each time: only when it has grown by a part of itself, or the sum would grow with its square
    const isWorth = call.outputSent === 0 || call.output.length > 1.25 * call.outputSent + 200
    if (call.output !== '' && isWorth && this.#mayPreview(call)) {
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

  /** The call was never made. */
  dropped(id: string): void {
    const call = this.#calls.get(id)
    if (!call || call.called || call.settled || call.step === undefined) return
    const errorText = 'The call was not made.'
    this.settle(call, { type: 'tool-input-error', ...namesOf(call), input: null, errorText })
  }

  dropDrafts(): void {
    for (const call of [...this.#shown]) this.dropped(call.id)
  }

  /** Nothing waits or runs beyond its turn, also what was asked for a call that was never made. */
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

  /** A subagent says something: its call must be there. */
  reveal(id: string): void {
    const call = this.#calls.get(id)
    if (call && this.#held.has(call)) this.show(call)
  }

  show(call: Call): void {
    this.#place(call)
    this.refresh(call)
  }

  /** The part again, with what is known of it now. A reader refuses a call without any input. */
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

  /** The next held call gets the stage. */
  promote(): void {
    const [next] = this.#held
    if (next && this.#stageIsFree()) this.show(next)
  }

  /** Beside these, something in the last step still runs. */
  isCrowded(but?: Call): boolean {
    const { current } = this.#parts.steps
    return [...this.#shown].some((call) => call.step === current && !call.asking && call !== but)
  }

  /** Everything that runs waits for the person, or for a subagent that does. */
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

  #stageIsFree(): boolean {
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
  return {
    toolCallId: id,
    toolName: name,
    ...(title !== undefined && { title }),
    dynamic: true,
    providerExecuted: !question,
  }
}

function resultChunk(event: EventOf<'tool-call.ended'>, { asked, allowed }: Call): UiChunk {
  const { toolCallId, outcome, content } = event
  if (outcome === 'completed') return { type: 'tool-output-available', toolCallId, output: outputOf(content) }
  // a part with an approval must have been allowed to fail; one without can be nothing but failed, and says why
  if (asked && !allowed) return { type: 'tool-output-denied', toolCallId }
  return { type: 'tool-output-error', toolCallId, errorText: errorOf(event) }
}
