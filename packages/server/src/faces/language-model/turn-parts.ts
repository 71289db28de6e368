import type { Delta, EventOf, SessionEvent } from '@parley/protocol'
import { errorOf, filesOf, outputOf } from '../../transcripts/tool-output.ts'
import { TurnTexts } from '../../transcripts/turn-texts.ts'
import type { UiChunk } from '../../transcripts/ui-chunk.ts'
import type { Json, StreamPart } from './specification.ts'

type Call = { readonly name: string; input: unknown; title: string | undefined }
type DeltaOf<Type extends Delta['type']> = Extract<Delta, { type: Type }>

/**
 * Converts the agent's texts and its own tool calls in a turn into parts of a response. A tool call is announced when
 * it is made, but becomes a `tool-call` part only with its result: a response may end in between, and the AI SDK
 * accepts no result without its call. Output of subagents is only in the log.
 */
export class TurnParts {
  readonly #isCallers: (tool: string) => boolean
  readonly #texts: TurnTexts
  readonly #drafts = new Set<string>()
  readonly #calls = new Map<string, Call>()
  #out: StreamPart[] = []

  /** With `structured`, the reply is the structured output and the agent's other texts are left out. */
  constructor(isCallers: (tool: string) => boolean, structured: boolean) {
    this.#isCallers = isCallers
    const emit = (chunk: UiChunk) => this.#out.push(structured ? aside(chunk) : (chunk as StreamPart))
    this.#texts = new TurnTexts(emit, () => undefined)
  }

  take(event: SessionEvent): StreamPart[] {
    if ('parentToolCallId' in event && event.parentToolCallId !== undefined) return []
    switch (event.type) {
      case 'text.written':
      case 'thinking.written':
        this.#texts.written(event)
        break
      case 'block.retracted':
        this.#texts.retracted(event.blockId)
        break
      case 'tool-call.called':
        this.#called(event)
        break
      case 'tool-call.updated':
        this.#updated(event)
        break
      case 'tool-call.ended':
        this.#ended(event)
        break
      case 'turn.ended':
        this.#texts.close()
        for (const id of this.#drafts) this.#out.push({ type: 'tool-input-end', id })
        break
    }
    return this.#given()
  }

  stream(delta: Delta): StreamPart[] {
    if ('parentToolCallId' in delta && delta.parentToolCallId !== undefined) return []
    if (delta.type === 'text.streamed' || delta.type === 'thinking.streamed') this.#texts.streamed(delta)
    if (delta.type === 'tool-call.drafted') this.#drafted(delta)
    if (delta.type === 'tool-call.input-streamed' && this.#drafts.has(delta.toolCallId)) {
      this.#out.push({ type: 'tool-input-delta', id: delta.toolCallId, delta: delta.text })
    }
    return this.#given()
  }

  /** Closes the open texts at the end of a response. Later text belongs to the next response. */
  close(): StreamPart[] {
    this.#texts.close()
    return this.#given()
  }

  #drafted({ toolCallId: id, name, title }: DeltaOf<'tool-call.drafted'>): void {
    if (name === '' || this.#isCallers(name) || this.#drafts.has(id) || this.#calls.has(id)) return
    this.#drafts.add(id)
    this.#begin(id, name, title)
  }

  #called({ toolCallId: id, name, title, input }: EventOf<'tool-call.called'>): void {
    if (this.#isCallers(name)) return
    if (!this.#drafts.delete(id)) {
      this.#begin(id, name, title)
      this.#out.push({ type: 'tool-input-delta', id, delta: JSON.stringify(input ?? {}) })
    }
    this.#out.push({ type: 'tool-input-end', id })
    this.#calls.set(id, { name, input, title })
  }

  #updated({ toolCallId, input, title }: EventOf<'tool-call.updated'>): void {
    const call = this.#calls.get(toolCallId)
    if (!call) return
    if (input !== undefined) call.input = input
    if (title !== undefined) call.title = title
  }

  #ended(event: EventOf<'tool-call.ended'>): void {
    const { toolCallId, outcome, content } = event
    const call = this.#calls.get(toolCallId)
    this.#calls.delete(toolCallId)
    if (!call) return
    const { name: toolName, input, title } = call
    const byAgent = { providerExecuted: true, dynamic: true } as const
    const providerMetadata = { parley: { outcome, ...(title !== undefined && { title }) } }
    this.#out.push(
      {
        type: 'tool-call',
        toolCallId,
        toolName,
        input: JSON.stringify(input ?? {}),
        ...byAgent,
        providerMetadata,
      },
      outcome === 'completed'
        ? {
            type: 'tool-result',
            toolCallId,
            toolName,
            result: outputOf(content) as NonNullable<Json>,
            dynamic: true,
          }
        : { type: 'tool-result', toolCallId, toolName, result: errorOf(event), isError: true, dynamic: true },
      ...filesOf(content).flatMap(fileOf),
    )
  }

  #begin(id: string, toolName: string, title: string | undefined): void {
    const about = { providerExecuted: true, dynamic: true, ...(title !== undefined && { title }) } as const
    this.#out.push({ type: 'tool-input-start', id, toolName, ...about })
  }

  #given(): StreamPart[] {
    const given = this.#out
    this.#out = []
    return given
  }
}

function aside(chunk: UiChunk): StreamPart {
  return { ...chunk, type: chunk.type.replace(/^text-/, 'reasoning-') } as StreamPart
}

function fileOf(chunk: UiChunk): StreamPart[] {
  if (chunk.type !== 'file') return []
  const data = chunk.url.slice(chunk.url.indexOf(',') + 1)
  return [{ type: 'file', mediaType: chunk.mediaType, data }]
}
