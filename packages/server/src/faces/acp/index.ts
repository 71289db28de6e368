import {
  type AgentApp,
  type AgentContext,
  type ContentBlock,
  agent as createAgent,
  type InitializeRequest,
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
  /** Set by initialize; the SDK refuses every other method before it. */
  editor?: Editor
}

export function createAcpFace(stream: Stream, options: AcpFaceOptions): AcpFace {
  const app = createAgent({ name: 'parley' })
  const sessions = new EditorSessions(options)
  const parts: Parts = { options, sessions }
  addIntroduction(app, parts)
  addSessions(app, parts)
  addTurns(app, parts)
  addSettings(app, parts)
  const connection = app.connect(stream)
  return {
    closed: connection.closed.then(() => sessions.leave()),
    close: () => connection.close(),
  }
}

function editorOf({ editor }: Parts): Editor {
  if (editor) return editor
  throw RequestError.invalidRequest({ code: 'conflict' }, 'initialize comes first')
}

/**
 * Turns whatever a handler throws into an ACP error. An unexpected error is a defect and is reported through `problem`
 * too.
 */
function answering<Context extends { method: string }, Answer>(
  { options }: Parts,
  work: (context: Context) => Promise<Answer>,
): (context: Context) => Promise<Answer> {
  return async (context) => {
    try {
      return await work(context)
    } catch (thrown) {
      const error = toRequestError(thrown)
      if (error.data && (error.data as { code?: string }).code === 'internal_error')
        options.problem?.(thrown, context.method)
      throw error
    }
  }
}

type Introducing = { method: string; params: InitializeRequest; client: AgentContext }

function addIntroduction(app: AgentApp, parts: Parts): void {
  const { sessions, options } = parts
  app.onRequest(
    'initialize',
    answering(parts, async ({ params, client }: Introducing) => {
      const agent = await sessions.agent()
      parts.editor = createEditor(client, params.clientCapabilities)
      return introduction(agent, options.version)
    }),
  )
  app.onRequest(
    'authenticate',
    answering(parts, async ({ params }) => signIn(await sessions.agent({ again: true }), params.methodId)),
  )
}

function addSessions(app: AgentApp, parts: Parts): void {
  const { sessions } = parts
  const opened = (session: OpenSession) => ({ sessionId: session.id, ...session.settings() })
  app.onRequest(
    'session/new',
    answering(parts, async ({ params }) => opened(await sessions.create(params, editorOf(parts)))),
  )
  app.onRequest(
    'session/load',
    answering(parts, async ({ params }) => {
      const session = await sessions.load(params.sessionId, params, editorOf(parts))
      return session.settings()
    }),
  )
  app.onRequest(
    'session/resume',
    answering(parts, async ({ params }) => {
      const session = await sessions.resume(params.sessionId, params, editorOf(parts))
      return session.settings()
    }),
  )
  app.onRequest(
    'session/fork',
    answering(parts, async ({ params }) =>
      opened(await sessions.fork(params.sessionId, params, editorOf(parts))),
    ),
  )
  app.onRequest(
    'session/list',
    answering(parts, async ({ params }) => sessions.list(params)),
  )
  app.onRequest(
    'session/close',
    answering(parts, async ({ params }) => {
      await sessions.close(params.sessionId)
      return {}
    }),
  )
  app.onRequest(
    'session/delete',
    answering(parts, async ({ params }) => {
      await sessions.remove(params.sessionId)
      return {}
    }),
  )
}

function addTurns(app: AgentApp, parts: Parts): void {
  const { sessions } = parts
  const partsOf = ({ agent, state }: OpenSession, prompt: ContentBlock[]) =>
    promptParts(prompt, { cwd: state.cwd, can: agent.capabilities })
  app.onRequest(
    'session/prompt',
    answering(parts, async ({ params, signal }) => {
      const session = sessions.get(params.sessionId)
      return session.prompt(partsOf(session, params.prompt), signal)
    }),
  )
  app.onRequest(
    steeringMethod,
    SteeringRequest,
    answering(parts, async ({ params }) => {
      const session = sessions.get(params.sessionId)
      if (!session.state.turn) return { outcome: 'promptRequired' }
      await session.steer(partsOf(session, params.prompt as ContentBlock[]))
      return { outcome: 'steered' }
    }),
  )
  app.onNotification('session/cancel', ({ params }) => sessions.get(params.sessionId).cancel())
}

function addSettings(app: AgentApp, parts: Parts): void {
  const { sessions } = parts
  app.onRequest(
    'session/set_mode',
    answering(parts, async ({ params }) => {
      await sessions.get(params.sessionId).configure({ mode: modeFrom(params.modeId) })
      return {}
    }),
  )
  app.onRequest(
    'session/set_config_option',
    answering(parts, async ({ params }) => {
      const session = sessions.get(params.sessionId)
      const setting = settingFrom(params.configId, params.value)
      if (setting) await session.configure(setting)
      return { configOptions: session.settings().configOptions }
    }),
  )
}
