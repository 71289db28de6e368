import {
  type AgentApp,
  type ContentBlock,
  agent as createAgent,
  RequestError,
  type Stream,
} from '@agentclientprotocol/sdk/unstable'
import { createEditor, type Editor } from './editor.ts'
import { EditorSessions, type EditorSessionsOptions } from './editor-sessions.ts'
import { introduction, signIn } from './introduction.ts'
import type { OpenSession } from './open-session.ts'
import { promptParts } from './prompt-parts.ts'
import { toRequestError } from './request-error.ts'
import { modeFrom, settingFrom } from './settings.ts'
import { SteeringRequest, steeringMethod } from './steering.ts'

export type { Access, AccessItem, FeedFrom } from './access.ts'
export { hostAccess } from './host-access.ts'
export { modeFrom } from './settings.ts'

export type AcpFaceOptions = EditorSessionsOptions & { readonly version: string }

/** Serves any Parley agent to one editor over the Agent Client Protocol, with Parley's log, rules and permissions. */
export type AcpFace = {
  /** Resolves when the editor has disconnected or the face was closed, and cleanup is done. */
  readonly closed: Promise<void>
  /** Stops all updates and requests to the editor. Sessions and their turns continue. */
  close(): void
}

type Parts = {
  readonly options: AcpFaceOptions
  readonly sessions: EditorSessions
  readonly on: AgentApp['onRequest']
  /** Set by initialize; the SDK refuses every other method before it. */
  editor?: Editor
}

export function createAcpFace(stream: Stream, options: AcpFaceOptions): AcpFace {
  const app = createAgent({ name: 'parley' })
  const sessions = new EditorSessions(options)
  const parts: Parts = { options, sessions, on: guardedOn(app, options) }
  addIntroduction(parts)
  addSessions(parts)
  addTurns(parts)
  addSettings(parts)
  app.onNotification('session/cancel', ({ params }) => sessions.get(params.sessionId).cancel())
  const connection = app.connect(stream)
  const { over } = options.access
  if (over?.aborted) connection.close()
  over?.addEventListener('abort', () => connection.close(), { once: true })
  return {
    closed: connection.closed.then(() => sessions.leave()),
    close: () => connection.close(),
  }
}

type Handler = (context: { method: string }) => Promise<unknown>

/**
 * Like `onRequest`, for handlers that may throw anything: a thrown value becomes an ACP error. An unexpected error is
 * a defect and is also reported through `problem`.
 */
function guardedOn(app: AgentApp, { problem }: AcpFaceOptions): AgentApp['onRequest'] {
  const register = app.onRequest.bind(app) as (...given: unknown[]) => AgentApp
  const guarded = (work: Handler) => (context: { method: string }) =>
    work(context).catch((thrown: unknown) => {
      const error = toRequestError(thrown)
      if ((error.data as { code?: string } | undefined)?.code === 'internal_error')
        problem?.(thrown, context.method)
      throw error
    })
  return ((...given: unknown[]) =>
    register(...given.slice(0, -1), guarded(given.at(-1) as Handler))) as AgentApp['onRequest']
}

function editorOf({ editor }: Parts): Editor {
  if (editor) return editor
  throw RequestError.invalidRequest({ code: 'conflict' }, 'initialize must be called first')
}

function addIntroduction(parts: Parts): void {
  const { sessions, options, on } = parts
  on('initialize', async ({ params, client }) => {
    const agent = await sessions.agent()
    parts.editor = createEditor(client, params.clientCapabilities)
    return introduction(agent, options.version)
  })
  on('authenticate', async ({ params }) => signIn(await sessions.agent({ again: true }), params.methodId))
}

function addSessions(parts: Parts): void {
  const { sessions, on } = parts
  const opened = (session: OpenSession) => ({ sessionId: session.id, ...session.settings() })
  on('session/new', async ({ params }) => opened(await sessions.create(params, editorOf(parts))))
  on('session/load', async ({ params }) => {
    const session = await sessions.load(params.sessionId, params, editorOf(parts))
    return session.settings()
  })
  on('session/resume', async ({ params }) => {
    const session = await sessions.resume(params.sessionId, params, editorOf(parts))
    return session.settings()
  })
  on('session/fork', async ({ params }) =>
    opened(await sessions.fork(params.sessionId, params, editorOf(parts))),
  )
  on('session/list', async ({ params }) => sessions.list(params))
  on('session/close', async ({ params }) => {
    await sessions.close(params.sessionId)
    return {}
  })
  on('session/delete', async ({ params }) => {
    await sessions.remove(params.sessionId)
    return {}
  })
}

function addTurns({ sessions, on }: Parts): void {
  const partsOf = ({ agent, state }: OpenSession, prompt: ContentBlock[]) =>
    promptParts(prompt, { cwd: state.cwd, can: agent.capabilities })
  on('session/prompt', async ({ params, signal }) => {
    const session = sessions.get(params.sessionId)
    return session.prompt(partsOf(session, params.prompt), signal)
  })
  on(steeringMethod, SteeringRequest, async ({ params }) => {
    const session = sessions.get(params.sessionId)
    if (!session.state.turn) return { outcome: 'promptRequired' }
    await session.steer(partsOf(session, params.prompt as ContentBlock[]))
    return { outcome: 'steered' }
  })
}

function addSettings({ sessions, on }: Parts): void {
  on('session/set_mode', async ({ params }) => {
    await sessions.get(params.sessionId).configure({ mode: modeFrom(params.modeId) })
    return {}
  })
  on('session/set_config_option', async ({ params }) => {
    const session = sessions.get(params.sessionId)
    const setting = settingFrom(params.configId, params.value)
    if (setting) await session.configure(setting)
    return { configOptions: session.settings().configOptions }
  })
}
