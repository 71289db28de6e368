import {
  type ChatRequest,
  defined,
  hasCode,
  ParleyError,
  type PermissionMode,
  type SessionState,
} from '@parley/protocol'
import { type Host, sessionIdFrom } from '../../core/index.ts'
import { checkFolder } from '../../workspace/folder.ts'

/** Settings of a new chat that its page does not send. */
export type ChatDefaults = {
  readonly agent?: string
  readonly cwd?: string
  readonly mode?: PermissionMode
  readonly model?: string
}

const commandOf = (chatId: string) => `chat:${chatId}`

/** The session whose id is `chatId`, or the session that was created for the chat. Undefined if there is none yet. */
export async function findSession(host: Host, chatId: string): Promise<SessionState | undefined> {
  return (await stateOf(host, chatId)) ?? (await stateOf(host, sessionIdFrom(commandOf(chatId))))
}

export async function createSession(
  host: Host,
  body: ChatRequest,
  defaults: ChatDefaults,
): Promise<SessionState> {
  const { agent = defaults.agent, cwd = defaults.cwd } = body
  if (agent === undefined || cwd === undefined) {
    const missing = agent === undefined ? 'agent' : 'cwd'
    throw new ParleyError(
      'validation_error',
      `A new chat needs its ${missing}: send it in the body (new DefaultChatTransport({ body: { agent, cwd } })), or set chat.${missing} in config.json.`,
      { details: { missing } },
    )
  }
  const { mode = defaults.mode, model = defaults.model } = body
  return host.create({ agent, cwd, ...defined({ mode, model }), commandId: commandOf(body.id) })
}

/**
 * Throws if the page names an agent or a folder other than the session's. A session never changes its agent or folder,
 * so the page must start another chat for another agent or folder.
 */
export async function checkSame(state: SessionState, { agent, cwd }: ChatRequest): Promise<void> {
  if (agent !== undefined && agent !== state.agent) {
    throw new ParleyError('conflict', `This chat is with ${state.agent}. Start another one for ${agent}.`, {
      details: { agent: state.agent },
    })
  }
  if (cwd === undefined || cwd === state.cwd) return
  if ((await checkFolder(cwd)) === state.cwd) return
  throw new ParleyError('conflict', `This chat works in ${state.cwd}. Start another one for ${cwd}.`, {
    details: { cwd: state.cwd },
  })
}

async function stateOf(host: Host, sessionId: string): Promise<SessionState | undefined> {
  try {
    return await host.state(sessionId)
  } catch (error) {
    if (hasCode(error, 'not_found')) return undefined
    throw error
  }
}
