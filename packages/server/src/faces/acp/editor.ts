import type {
  AgentContext,
  ClientCapabilities,
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'

/** Sends updates and requests to the editor, the program at the other end of the connection. */
export type Editor = {
  readonly knows: { readonly notices: boolean; readonly compaction: boolean; readonly forms: boolean }
  /** Resolves when the update is written. A caller that awaits it sends no faster than the editor reads. */
  update(sessionId: string, update: SessionUpdate): Promise<void>
  /** If the signal aborts, the request is withdrawn: the editor is notified, and the promise rejects. */
  permission(question: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>
  form(question: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>
}

export function createEditor(client: AgentContext, capabilities: ClientCapabilities | undefined): Editor {
  const { session, elicitation } = capabilities ?? {}
  const options = (signal: AbortSignal) => ({ cancellationSignal: signal, stopWaitingOnCancel: true })
  return {
    knows: {
      notices: session?.notices != null,
      compaction: session?.compaction != null,
      forms: elicitation?.form != null,
    },
    // Errors are ignored, because the holder of the connection notices that the editor is gone.
    update: (sessionId, update) =>
      client.notify('session/update', { sessionId, update }).catch(() => undefined),
    permission: (question, signal) => client.request('session/request_permission', question, options(signal)),
    form: (question, signal) => client.request('elicitation/create', question, options(signal)),
  }
}
