import type { SessionUpdate, ToolCallStatus } from '@agentclientprotocol/sdk/unstable'
import {
  type Delta,
  type EventOf,
  type OpenToolCall,
  type PermissionRequest,
  requestedDiffs,
  type ToolOutcome,
} from '@parley/protocol'
import {
  block,
  fenced,
  nativeContent,
  nativeDiffs,
  nativeKind,
  nativeLocations,
} from './tool-call-content.ts'

type Drafted = Extract<Delta, { type: 'tool-call.drafted' }>
type Output = Extract<Delta, { type: 'tool-call.output-streamed' }>
type CallEvent = EventOf<
  | 'tool-call.called'
  | 'tool-call.updated'
  | 'tool-call.ended'
  | 'permission.requested'
  | 'permission.resolved'
>
type Call = { output: string; length: number; unsent: boolean; runs: boolean }

/**
 * The maximum number of characters of a running call's output in an update, counted from the end of the output. Each
 * update repeats the output.
 */
const longestOutput = 16_000

const ends: Record<ToolOutcome, ToolCallStatus> = {
  completed: 'completed',
  failed: 'failed',
  denied: 'failed',
  cancelled: 'failed',
}

/**
 * Converts the tool calls of a turn into updates. A call is pending until it was allowed or has output, because the
 * log does not record when a call without a permission starts.
 */
export class ToolCallUpdates {
  readonly #cwd: () => string
  readonly #calls = new Map<string, Call>()
  /** The call of each permission, by request id. */
  readonly #asked = new Map<string, string>()

  constructor(cwd: () => string) {
    this.#cwd = cwd
  }

  clear(): void {
    this.#calls.clear()
    this.#asked.clear()
  }

  drafted(draft: Drafted): SessionUpdate[] {
    if (this.#calls.has(draft.toolCallId)) return []
    const { toolCallId, name, title = name, kind = 'other' } = draft
    this.#begin(toolCallId)
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId,
        title,
        name,
        kind: nativeKind(kind),
        status: 'pending',
        ...withParent(draft),
      },
    ]
  }

  open(call: OpenToolCall): SessionUpdate[] {
    const { id: toolCallId, turnId, type, ...rest } = call
    return this.drafted({ type: 'tool-call.drafted', toolCallId, ...rest })
  }

  event(event: CallEvent): SessionUpdate[] {
    switch (event.type) {
      case 'tool-call.called':
        return this.#called(event)
      case 'tool-call.updated':
        return this.#updated(event)
      case 'tool-call.ended':
        return this.#ended(event)
      case 'permission.requested':
        if (event.toolCallId) this.#asked.set(event.requestId, event.toolCallId)
        return []
      case 'permission.resolved':
        return event.outcome === 'allowed' ? this.#runs(this.#asked.get(event.requestId)) : []
    }
  }

  output({ toolCallId, offset, text }: Output): SessionUpdate[] {
    const call = this.#calls.get(toolCallId)
    if (!call || offset > call.length || offset + text.length <= call.length) return []
    call.output = (call.output + text.slice(call.length - offset)).slice(-longestOutput)
    call.length = offset + text.length
    call.unsent = true
    return this.#runs(toolCallId)
  }

  outputs(): SessionUpdate[] {
    return [...this.#calls].flatMap(([toolCallId, call]): SessionUpdate[] => {
      if (!call.unsent) return []
      call.unsent = false
      const text = `${call.length > call.output.length ? '…' : ''}${call.output}`
      return [
        {
          sessionUpdate: 'tool_call_update',
          toolCallId,
          content: [block({ type: 'text', text: fenced(text, 'console') })],
        },
      ]
    })
  }

  #begin(toolCallId: string): void {
    this.#calls.set(toolCallId, { output: '', length: 0, unsent: false, runs: false })
  }

  #called(event: EventOf<'tool-call.called'>): SessionUpdate[] {
    const { toolCallId, name, kind, title, input, locations } = event
    const fields = {
      toolCallId,
      title,
      name,
      kind: nativeKind(kind),
      status: 'pending' as const,
      rawInput: input,
      locations: nativeLocations(locations, this.#cwd()),
      ...withParent(event),
    }
    if (this.#calls.has(toolCallId)) return [{ sessionUpdate: 'tool_call_update', ...fields }]
    this.#begin(toolCallId)
    return [{ sessionUpdate: 'tool_call', ...fields }]
  }

  #updated(event: EventOf<'tool-call.updated'>): SessionUpdate[] {
    const { toolCallId, title, kind, input, locations, content } = event
    if (!this.#calls.has(toolCallId)) return []
    return [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId,
        ...(title !== undefined && { title }),
        ...(kind && { kind: nativeKind(kind) }),
        ...(input !== undefined && { rawInput: input }),
        ...(locations && { locations: nativeLocations(locations, this.#cwd()) }),
        ...(content && { content: nativeContent(content, this.#cwd()) }),
        ...withParent(event),
      },
    ]
  }

  #ended(event: EventOf<'tool-call.ended'>): SessionUpdate[] {
    const { toolCallId, outcome, content } = event
    if (!this.#calls.delete(toolCallId)) return []
    const terminal = content.find((item) => item.type === 'terminal')
    const { parentToolCallId } = event
    return [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId,
        status: ends[outcome],
        content: nativeContent(content, this.#cwd()),
        ...(terminal && { rawOutput: { output: terminal.output, exitCode: terminal.exitCode ?? null } }),
        _meta: { parley: { outcome, ...(parentToolCallId && { parentToolCallId }) } },
      },
    ]
  }

  #runs(toolCallId: string | undefined): SessionUpdate[] {
    const call = toolCallId === undefined ? undefined : this.#calls.get(toolCallId)
    if (toolCallId === undefined || !call || call.runs) return []
    call.runs = true
    return [{ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' }]
  }
}

/**
 * Adds the id of the call whose subagent wrote the output. ACP has no field for this id, so it is in `_meta`.
 */
export function withParent({ parentToolCallId }: { readonly parentToolCallId?: string | undefined }) {
  return parentToolCallId === undefined ? {} : { _meta: { parley: { parentToolCallId } } }
}

/** The tool call of a permission request, with the data that a person needs to decide. */
export function callInQuestion(request: PermissionRequest, cwd: string) {
  const { requestId, toolCallId = requestId, title, tool, kind, input, reason } = request
  const plan = kind === 'plan' ? planIn(input) : undefined
  const words = [reason, plan].filter((text) => text !== undefined)
  const content = [
    ...words.map((text) => block({ type: 'text', text })),
    ...requestedDiffs(request).flatMap((diff) => nativeDiffs(diff, cwd)),
  ]
  return {
    toolCallId,
    title,
    name: tool,
    kind: nativeKind(kind),
    status: 'pending' as const,
    rawInput: input,
    ...(content.length > 0 && { content }),
    ...withParent(request),
  }
}

function planIn(input: unknown): string | undefined {
  const plan = typeof input === 'object' && input !== null && 'plan' in input ? input.plan : undefined
  return typeof plan === 'string' ? plan : undefined
}
