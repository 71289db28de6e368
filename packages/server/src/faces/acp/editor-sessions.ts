import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  type ListSessionsRequest,
  type ListSessionsResponse,
  type LoadSessionRequest,
  type NewSessionRequest,
  RequestError,
} from '@agentclientprotocol/sdk/unstable'
import {
  type AgentInfo,
  defined,
  hasCode,
  hideSecrets,
  type McpServers,
  newId,
  ParleyError,
  type PermissionMode,
  type SessionOptions,
  type SessionState,
} from '@parley/protocol'
import type { Access } from './access.ts'
import type { Editor } from './editor.ts'
import { mcpServersOf } from './mcp-servers.ts'
import { OpenSession } from './open-session.ts'

export type EditorSessionsOptions = {
  readonly access: Access
  readonly agent: string
  /** Settings of new sessions. An editor cannot choose them when it creates a session. */
  readonly defaults?: { readonly mode?: PermissionMode; readonly model?: string }
  /** The command that opens a session in another client. */
  readonly elsewhere?: (sessionId: string) => string
  readonly opened?: (sessionId: string) => void
  /** Called with errors that cannot be reported to the editor. */
  readonly problem?: (thrown: unknown, doing: string) => void
}

/** The time limit of the cleanup after the editor has disconnected. */
const leaveMs = 2_000

type Place = Pick<LoadSessionRequest, 'cwd' | 'additionalDirectories'> & {
  readonly mcpServers?: LoadSessionRequest['mcpServers']
}

/** The sessions that are open in one editor, by id. */
export class EditorSessions {
  readonly #options: EditorSessionsOptions
  readonly #open = new Map<string, OpenSession>()
  /**
   * Sessions created by this editor. Unused sessions are deleted, because an editor creates a session before
   * its person sends a prompt.
   */
  readonly #made = new Set<string>()
  #agent: AgentInfo | undefined

  constructor(options: EditorSessionsOptions) {
    this.#options = options
  }

  /** The agent. It is cached, because probing takes a while. With `again`, it is probed again. */
  async agent({ again = false } = {}): Promise<AgentInfo> {
    const { access, agent: id } = this.#options
    if (this.#agent && !again) return this.#agent
    this.#agent = await access.agent(id)
    if (this.#agent) return this.#agent
    throw new ParleyError('agent_not_found', `There is no agent "${id}". Give another one with --agent.`)
  }

  /**
   * The agent, if it can be used. Otherwise throws an error with a hint, which the editor can show before the
   * first prompt.
   */
  async #ready(): Promise<AgentInfo> {
    const isReady = ({ found, usable, signedIn }: AgentInfo) =>
      found && usable !== false && signedIn !== false
    const known = await this.agent()
    const agent = isReady(known) ? known : await this.agent({ again: true })
    if (isReady(agent)) return agent
    const { found, usable, name, hint = '' } = agent
    if (found && usable === false) throw new ParleyError('agent_failed', `${name} cannot be used. ${hint}`)
    if (found) throw new ParleyError('agent_not_signed_in', `${name} is not signed in. ${hint}`)
    throw new ParleyError('agent_not_found', `${name} was not found. ${hint}`)
  }

  /** A session that this editor created, loaded or resumed. */
  get(sessionId: string): OpenSession {
    const session = this.#open.get(sessionId)
    if (session) return session
    throw RequestError.sessionNotFound(sessionId)
  }

  async create(request: NewSessionRequest, editor: Editor): Promise<OpenSession> {
    const { access, agent, defaults } = this.#options
    const info = await this.#ready()
    const mcpServers = mcpServersOf(request.mcpServers)
    const options = optionsOf(request)
    const state = await access.create({
      agent,
      cwd: request.cwd,
      ...defaults,
      ...defined({ mcpServers, options }),
      commandId: newId('cmd'),
    })
    const session = this.#show(state, info, editor)
    this.#made.add(state.id)
    session.startUpdates()
    return session
  }

  async load(sessionId: string, place: Place, editor: Editor): Promise<OpenSession> {
    const session = this.#show(...(await this.#prepared(sessionId, place)), editor)
    await session.replay()
    return session
  }

  async resume(sessionId: string, place: Place, editor: Editor): Promise<OpenSession> {
    const session = this.#show(...(await this.#prepared(sessionId, place)), editor)
    session.startUpdates()
    return session
  }

  async fork(sessionId: string, place: Place, editor: Editor): Promise<OpenSession> {
    const { access } = this.#options
    await this.#found(sessionId, place)
    const command = { type: 'session.fork', commandId: newId('cmd') } as const
    const { sessionId: copy } = await access.command(sessionId, command)
    if (copy === undefined)
      throw new ParleyError('internal_error', 'The server did not return the id of the fork.')
    return this.resume(copy, place, editor)
  }

  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { access, agent } = this.#options
    const page = await access.list({ agent, ...(cursor && { cursor }) })
    const folder = cwd && (await realFolder(cwd))
    return {
      sessions: page.sessions
        .filter((session) => !folder || session.cwd === folder)
        .map(({ id, title, updatedAt, ...session }) => ({
          sessionId: id,
          cwd: session.cwd,
          ...(title && { title }),
          updatedAt: new Date(updatedAt).toISOString(),
        })),
      ...(page.cursor && { nextCursor: page.cursor }),
    }
  }

  /** Cancels the running turn, as ACP requires, and closes the agent's process. The session is kept. */
  async close(sessionId: string): Promise<void> {
    const session = this.get(sessionId)
    await session.cancel()
    await session.idle()
    this.#forget(session)
    await this.#options.access.command(sessionId, { type: 'session.close', commandId: newId('cmd') })
    await this.#dropUnused(sessionId)
  }

  async remove(sessionId: string): Promise<void> {
    await this.#own(sessionId)
    const session = this.#open.get(sessionId)
    if (session) this.#forget(session)
    await this.#options.access.remove(sessionId)
  }

  /** Called when the editor has disconnected: closes all its sessions and deletes the unused sessions. */
  async leave(): Promise<void> {
    const { problem = () => undefined } = this.#options
    for (const session of [...this.#open.values()]) this.#forget(session)
    const dropped = [...this.#made].map((sessionId) => this.#dropUnused(sessionId))
    const late = new Promise<void>((resolve) => setTimeout(resolve, leaveMs).unref())
    await Promise.race([Promise.all(dropped), late]).catch((thrown: unknown) => problem(thrown, 'clean up'))
  }

  async #dropUnused(sessionId: string): Promise<void> {
    const { access } = this.#options
    if (!this.#made.delete(sessionId)) return
    const state = await access.state(sessionId).catch(unlessNotFound)
    if (state && isUnused(state)) await access.remove(sessionId).catch(unlessNotFound)
  }

  #forget(session: OpenSession): void {
    session.close()
    if (this.#open.get(session.id) === session) this.#open.delete(session.id)
  }

  #show(state: SessionState, agent: AgentInfo, editor: Editor): OpenSession {
    const { access, opened, problem = () => undefined, elsewhere } = this.#options
    const before = this.#open.get(state.id)
    if (before?.busy) {
      const message = 'A prompt is running in this session. Open the session again when the prompt has ended.'
      throw new ParleyError('conflict', message)
    }
    if (before) this.#forget(before)
    const session: OpenSession = new OpenSession({
      access,
      editor,
      agent,
      state,
      elsewhere: elsewhere?.(state.id),
      ended: (thrown) => {
        this.#forget(session)
        problem(thrown, `follow ${state.id}`)
      },
      problem,
    })
    this.#open.set(state.id, session)
    opened?.(state.id)
    return session
  }

  /** The state of a session. Throws if the editor names a folder other than the session's. */
  async #found(sessionId: string, { cwd }: Place): Promise<SessionState> {
    const state = await this.#own(sessionId)
    if ((await realFolder(cwd)) === state.cwd) return state
    const message = `Session ${sessionId} belongs to the folder ${state.cwd}, not ${cwd}. Open ${state.cwd}.`
    throw new ParleyError('validation_error', message, { details: { cwd: state.cwd } })
  }

  /**
   * Finds the session like `#found`, then applies the MCP servers and folders that the editor names. Returns its new
   * state.
   */
  async #prepared(sessionId: string, place: Place): Promise<[SessionState, AgentInfo]> {
    const { access } = this.#options
    const [state, agent] = await Promise.all([this.#found(sessionId, place), this.agent()])
    const mcpServers = mcpServersOf(place.mcpServers)
    const options = optionsOf(place)
    const isNew = mayDiffer(mcpServers, state.mcpServers) || differs(options, state.requested.options)
    if (!isNew) return [state, agent]
    await access.command(sessionId, {
      type: 'session.configure',
      commandId: newId('cmd'),
      ...defined({ mcpServers, options }),
    })
    return [await access.state(sessionId), agent]
  }

  async #own(sessionId: string): Promise<SessionState> {
    const { access, agent } = this.#options
    const state = await access.state(sessionId)
    if (state.agent === agent) return state
    const message = `Session ${sessionId} uses the agent ${state.agent}. Open it with: parley acp --agent ${state.agent}`
    throw new ParleyError('validation_error', message, { details: { agent: state.agent } })
  }
}

/** True if no prompt was sent and the session has no title and is not pinned. */
function isUnused({ turns, turn, queue, title, pinned }: SessionState): boolean {
  return turns === 0 && !turn && queue.length === 0 && title === '' && !pinned
}

function unlessNotFound(thrown: unknown): undefined {
  if (hasCode(thrown, 'not_found')) return undefined
  throw thrown
}

function optionsOf({ additionalDirectories }: Place): SessionOptions | undefined {
  return additionalDirectories?.length ? { directories: additionalDirectories } : undefined
}

/**
 * Whether the MCP servers that the editor names may differ from the current MCP servers. Always true for an
 * MCP server with secrets, because Parley does not return secrets. Sending the same values again changes
 * nothing.
 */
function mayDiffer(named: McpServers | undefined, there: McpServers | undefined): boolean {
  return differs(named, there) || (named !== undefined && differs(named, hideSecrets(named)))
}

/**
 * Whether any value that the editor names differs from the current value. Values that the editor does not
 * name are not compared.
 */
function differs<Value extends McpServers | SessionOptions>(
  named: Value | undefined,
  there: Value | undefined,
): boolean {
  if (!named) return false
  const now = (there ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(named).some(([key, value]) => JSON.stringify(now[key]) !== JSON.stringify(value))
}

/** The path of a folder with symbolic links resolved, as sessions store it. */
async function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => resolve(folder))
}
