import {
  type ClientCapabilities,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk/unstable'

type Ask<Request, Response> = (request: Request, signal: AbortSignal) => Response | Promise<Response>

/** An editor built on the SDK's own client. It records all updates and requests; the test sets its answers. */
export type EditorUnderTest = {
  readonly agent: ClientContext
  readonly received: { readonly sessionId: string; readonly update: SessionUpdate }[]
  readonly permissions: RequestPermissionRequest[]
  readonly forms: CreateElicitationRequest[]
  /** The ids of requests that were withdrawn before they were answered. */
  readonly takenBack: string[]
  answerPermission: Ask<RequestPermissionRequest, RequestPermissionResponse>
  answerForm: Ask<CreateElicitationRequest, CreateElicitationResponse>
  /** Resolves with the value of `fact` once it is truthy. Calls `fact` again after each update and request. */
  until<Value>(fact: () => Value | undefined | false): Promise<Value>
  introduce(capabilities?: ClientCapabilities): ReturnType<typeof initialize>
  updates<Type extends SessionUpdate['sessionUpdate']>(
    type: Type,
    from?: number,
  ): Extract<SessionUpdate, { sessionUpdate: Type }>[]
  /** All text that the agent sent, without its thinking. */
  text(from?: number): string
  leave(): void
}

export const everything: ClientCapabilities = {
  elicitation: { form: {} },
  session: { notices: {}, compaction: {} },
}

export function editorUnderTest(stream: Stream): EditorUnderTest {
  let wake = Promise.withResolvers<void>()
  const stir = () => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  const connection = client({ name: 'editor' })
    .onNotification('session/update', ({ params }) => {
      editor.received.push(params)
      stir()
    })
    .onRequest('session/request_permission', ({ params, signal }) => {
      editor.permissions.push(params)
      signal.addEventListener('abort', () => {
        editor.takenBack.push(params.toolCall.toolCallId)
        stir()
      })
      stir()
      return editor.answerPermission(params, signal)
    })
    .onRequest('elicitation/create', ({ params, signal }) => {
      editor.forms.push(params)
      signal.addEventListener('abort', () => {
        editor.takenBack.push(params.message)
        stir()
      })
      stir()
      return editor.answerForm(params, signal)
    })
    .connect(stream)
  const editor: EditorUnderTest = {
    agent: connection.agent,
    received: [],
    permissions: [],
    forms: [],
    takenBack: [],
    answerPermission: () => new Promise(() => {}),
    answerForm: () => new Promise(() => {}),
    async until(fact) {
      for (;;) {
        const value = fact()
        if (value !== undefined && value !== false) return value
        await wake.promise
      }
    },
    introduce: (capabilities) => initialize(connection.agent, capabilities),
    updates: (type, from = 0) =>
      editor.received
        .slice(from)
        .flatMap(({ update }) => (update.sessionUpdate === type ? [update as never] : [])),
    text: (from) =>
      editor
        .updates('agent_message_chunk', from)
        .map(({ content }) => (content.type === 'text' ? content.text : ''))
        .join(''),
    leave: () => connection.close(),
  }
  return editor
}

function initialize(agent: ClientContext, clientCapabilities: ClientCapabilities = {}) {
  return agent.request('initialize', { protocolVersion: PROTOCOL_VERSION, clientCapabilities })
}

/** Answers a permission with the first option of this kind, or of this kind and name. */
export function choosing(kind: string, name = /./): EditorUnderTest['answerPermission'] {
  return ({ options }) => {
    const option = options.find((one) => one.kind === kind && name.test(one.name))
    if (!option) throw new Error(`there is no ${kind}: ${JSON.stringify(options)}`)
    return { outcome: { outcome: 'selected', optionId: option.optionId } }
  }
}

/**
 * Both ends of a byte stream, as between two processes. `type` writes bytes that the SDK would never write; `gate`
 * delays the messages to the editor.
 */
export function wires(gate: () => Promise<void> = async () => undefined): {
  face: Stream
  editor: Stream
  type(text: string): Promise<void>
  /** Closes the editor's end. */
  hangUp(): Promise<void>
} {
  const there = new TransformStream<Uint8Array, Uint8Array>()
  const back = new TransformStream<Uint8Array, Uint8Array>({
    async transform(bytes, controller) {
      await gate()
      controller.enqueue(bytes)
    },
  })
  return {
    face: ndJsonStream(back.writable, there.readable),
    editor: ndJsonStream(there.writable, back.readable),
    async type(text) {
      const writer = there.writable.getWriter()
      await writer.write(new TextEncoder().encode(text))
      writer.releaseLock()
    },
    hangUp: () => there.writable.close(),
  }
}
