import {
  type Delta,
  type EventOf,
  editedCommand,
  isKnown,
  requestedDiffs,
  type SessionEvent,
  timeWaited,
  type UnknownEvent,
} from '@parley/protocol'
import { eventRows } from './event-rows.ts'
import { type AskedFacts, type ToolRow, toolRow } from './rows.ts'
import type { Style } from './style.ts'
import { toolOutputLines } from './tool-output.ts'
import { visible } from './visible.ts'

/** Text to write. `overRow` replaces the previous row, which fits on one line of the terminal. */
export type Piece = { readonly to: 'out' | 'err'; readonly text: string; readonly overRow?: true }

export type TranscriptOptions = {
  readonly style: Style
  readonly isOutTerminal: boolean
  readonly isErrTerminal: boolean
  readonly columns: () => number
  /** Whether prompts are shown too: prompts of this client and of others. */
  readonly prompts: boolean
  /** True if permissions are asked on this terminal, with their diff. */
  readonly asks?: boolean
}

type Target = 'out' | 'err'
type Streamed = { readonly id: string; readonly to: Target; printed: number; isBroken: boolean }
type Call = Pick<ToolRow, 'kind' | 'title' | 'depth'> & { readonly at: number }
type Asked = AskedFacts & {
  readonly at: number
  readonly resolvedAt?: number
  readonly toolCallId?: string | undefined
}
type Words = {
  readonly type: string
  readonly blockId: string
  readonly parentToolCallId?: string | undefined
}

/**
 * Converts a session's feed to pieces to write. It performs no input or output: the same feed gives the same pieces.
 * The agent's text is written to `out`, everything else to `err`. Only one block is streamed at a time; another block
 * is written whole at its end.
 */
export class Transcript {
  readonly #options: TranscriptOptions
  readonly #calls = new Map<string, Call>()
  readonly #asked = new Map<string, Asked>()
  /** The id of the tool call whose diff a request shows, by request id. */
  readonly #changes = new Map<string, string>()
  readonly #knownChanges = new Set<string>()
  readonly #saidErrors = new Set<string>()
  #pieces: Piece[] = []
  #streaming: Streamed | undefined
  /** The stream whose last line is not complete. */
  #unfinished: Target | undefined
  #hasWords = false
  #lastRow: string | undefined

  constructor(options: TranscriptOptions) {
    this.#options = options
  }

  event(event: SessionEvent | UnknownEvent): Piece[] {
    if (isKnown(event)) this.#takeEvent(event)
    return this.#take()
  }

  delta(delta: Delta): Piece[] {
    if (delta.type === 'text.streamed' || delta.type === 'thinking.streamed') this.#streamed(delta)
    return this.#take()
  }

  #take(): Piece[] {
    const taken = this.#pieces
    this.#pieces = []
    return taken
  }

  #takeEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'text.written':
      case 'thinking.written':
        return this.#written(event)
      case 'tool-call.called':
        return this.#called(event)
      case 'tool-call.updated':
        return this.#updated(event)
      case 'tool-call.ended':
        return this.#ended(event)
      case 'permission.requested':
        if (requestedDiffs(event).length > 0 && event.toolCallId)
          this.#changes.set(event.requestId, event.toolCallId)
        return this.#requested(event.requestId, event)
      case 'question.asked':
        return this.#requested(event.requestId, event)
      case 'permission.resolved':
        this.#resolved(event)
        if (this.#options.asks && event.by === 'person')
          this.#knownChanges.add(this.#changes.get(event.requestId) ?? '')
        break
      case 'question.resolved':
        this.#resolved(event)
        break
      case 'block.retracted':
        if (this.#streaming?.id === event.blockId) this.#streaming = undefined
        break
      case 'turn.ended':
        this.#turnEnded(event)
    }
    const { style, prompts } = this.#options
    const asked = (requestId: string) => this.#asked.get(requestId) ?? {}
    const wasShown = (words: string) => this.#saidErrors.has(words)
    const waited = event.type === 'turn.ended' ? this.#waited(event.at - event.durationMs, event.at) : 0
    const rows = eventRows(event, { style, prompts, asked, waited, wasShown })
    for (const row of rows) this.#row(row)
    this.#remember(event)
  }

  #streamed(delta: Delta & { type: 'text.streamed' | 'thinking.streamed' }): void {
    const to = this.#target(delta)
    if (!to || (this.#streaming && this.#streaming.id !== delta.blockId)) return
    this.#streaming ??= this.#begin(delta.blockId, to)
    const block = this.#streaming
    if (delta.offset > block.printed) block.isBroken = true
    if (block.isBroken) return
    this.#words(to, delta.text.slice(block.printed - delta.offset))
    block.printed = Math.max(block.printed, delta.offset + delta.text.length)
  }

  #written(event: EventOf<'text.written'> | EventOf<'thinking.written'>): void {
    const to = this.#target(event)
    if (!to) return
    const open = this.#streaming?.id === event.blockId ? this.#streaming : undefined
    const block = open ?? this.#begin(event.blockId, to)
    this.#words(to, event.text.slice(block.printed))
    if (event.interrupted && this.#options.isErrTerminal) this.#words('err', ' (cut off)')
    this.#endLine(to)
    if (open) this.#streaming = undefined
  }

  /**
   * The stream that a text is written to; undefined if it is not shown. Thinking, and anything that a
   * subagent writes, is shown only on a terminal.
   */
  #target({ type, parentToolCallId }: Words): Target | undefined {
    if (type.startsWith('text.') && parentToolCallId === undefined) return 'out'
    return this.#options.isErrTerminal ? 'err' : undefined
  }

  #begin(id: string, to: Target): Streamed {
    this.#endLine(to)
    if (to === 'out' && this.#hasWords) this.#put('out', '\n')
    if (to === 'out') this.#hasWords = true
    return { id, to, printed: 0, isBroken: false }
  }

  #called(event: EventOf<'tool-call.called'>): void {
    const { kind, at, title, name, toolCallId, parentToolCallId } = event
    const parent = parentToolCallId === undefined ? undefined : this.#calls.get(parentToolCallId)
    const call = { kind, title: title || name, at, depth: parent ? parent.depth + 1 : 0 }
    this.#calls.set(toolCallId, call)
    const { style, columns, isErrTerminal } = this.#options
    if (!isErrTerminal) return
    this.#row(toolRow({ ...call, status: 'running' }, style, columns()))
    this.#lastRow = toolCallId
  }

  #updated({ toolCallId, title, kind }: EventOf<'tool-call.updated'>): void {
    const call = this.#calls.get(toolCallId)
    if (call) this.#calls.set(toolCallId, { ...call, title: title ?? call.title, kind: kind ?? call.kind })
  }

  #ended({ toolCallId, outcome: status, content, at }: EventOf<'tool-call.ended'>): void {
    const { style, columns } = this.#options
    const call = this.#calls.get(toolCallId) ?? { kind: 'other', title: 'tool call', at, depth: 0 }
    const durationMs = at - call.at - this.#waited(call.at, at, toolCallId)
    const row = toolRow({ ...call, status, content, durationMs }, style, columns())
    if (this.#lastRow !== toolCallId) this.#row(row)
    else this.#pieces.push({ to: 'err', text: `${row}\n`, overRow: true })
    this.#lastRow = undefined
    const isChangeKnown = this.#knownChanges.has(toolCallId)
    for (const line of toolOutputLines({ ...call, status, content, isChangeKnown }, style)) this.#row(line)
  }

  #requested(requestId: string, { at, toolCallId, title, input, questions }: Asked): void {
    this.#asked.set(requestId, { at, toolCallId, title, input, questions })
    this.#lastRow = undefined
  }

  #resolved(event: EventOf<'permission.resolved'> | EventOf<'question.resolved'>): void {
    const asked = this.#asked.get(event.requestId)
    if (!asked) return
    this.#asked.set(event.requestId, { ...asked, resolvedAt: event.at })
    const call = this.#calls.get(asked.toolCallId ?? '')
    const title = event.type === 'permission.resolved' ? editedCommand(asked.input, event.input) : undefined
    if (call && title !== undefined) this.#calls.set(asked.toolCallId ?? '', { ...call, title })
  }

  #waited(from: number, to: number, toolCallId?: string): number {
    const all = [...this.#asked.values()]
    const asked = toolCallId === undefined ? all : all.filter((one) => one.toolCallId === toolCallId)
    return timeWaited(asked, { from, to })
  }

  #turnEnded({ structuredOutput }: EventOf<'turn.ended'>): void {
    this.#streaming = undefined
    this.#endLine('out')
    if (structuredOutput !== undefined) {
      const separator = this.#hasWords ? '\n' : ''
      this.#put('out', `${separator}${JSON.stringify(structuredOutput, null, 2)}\n`)
    }
    this.#hasWords = false
  }

  /**
   * Remembers the error of a lost agent until its turn ends, so that it is shown once: an agent that cannot
   * start reports the same error for the process and for the turn.
   */
  #remember(event: SessionEvent): void {
    if (event.type === 'agent.disconnected' && event.error) this.#saidErrors.add(event.error.message)
    if (event.type === 'turn.ended') this.#saidErrors.clear()
  }

  #row(text: string): void {
    this.#endLine('err')
    this.#put('err', `${text}\n`)
  }

  #words(to: Target, text: string): void {
    const { isOutTerminal, style } = this.#options
    if (to === 'out') this.#put('out', isOutTerminal ? visible(text) : text)
    else this.#put('err', visible(text), style.dim)
  }

  #endLine(to: Target): void {
    if (this.#unfinished === to) this.#put(to, '\n')
  }

  #put(to: Target, text: string, paint = (plain: string) => plain): void {
    if (text === '') return
    const { isOutTerminal, isErrTerminal } = this.#options
    const isShared = isOutTerminal && isErrTerminal
    if (isShared && this.#unfinished !== undefined && this.#unfinished !== to) {
      this.#pieces.push({ to: this.#unfinished, text: '\n' })
      this.#unfinished = undefined
    }
    this.#pieces.push({ to, text: text === '\n' ? text : paint(text) })
    this.#lastRow = undefined
    if (!text.endsWith('\n')) this.#unfinished = to
    else if (this.#unfinished === to) this.#unfinished = undefined
  }
}
