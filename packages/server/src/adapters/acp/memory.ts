import { type ClientContext, RequestError } from '@agentclientprotocol/sdk/unstable'
import type { AgentMemory, Remembered } from '@parley/adapter-kit'
import { AgentProcess } from '@parley/adapter-kit/child-process'
import { unlessAborted } from '@parley/adapter-kit/time-limit'
import { type AgentConversation, ParleyError } from '@parley/protocol'
import type { KnownAgent } from './agent.ts'
import type { AcpConnectionOptions } from './connection.ts'
import { cannot, initialize, type ListedSession, load, sessionPages, signedIn } from './conversation.ts'
import { listGeminiSessions } from './gemini-session-files.ts'
import type { Frame, NativeInitialized } from './native.ts'
import { cannotStart, endGroup, errorMessage } from './program.ts'
import { sessionMeta } from './settings.ts'
import { ReplayTranslator } from './translate-memory.ts'
import { Wire } from './wire.ts'

const titleLength = 80

/**
 * Reads the conversations that an agent stores. The list comes from the agent's program or its files; the content of a
 * conversation comes from a replay. Neither runs a turn.
 */
export function acpMemory(options: MemoryOptions): AgentMemory {
  const { agent, env } = options
  const { conversations } = agent
  const kept = typeof conversations === 'object' ? conversations : undefined

  async function listed(query: { cwd?: string }, signal: AbortSignal): Promise<AgentConversation[]> {
    if (kept) return listGeminiSessions({ folder: kept.folder, home: env[kept.home] ?? env.HOME, signal })
    return withMemoryProgram(options, signal, async ({ wire, about }) => {
      if (about.agentCapabilities?.sessionCapabilities?.list == null)
        throw cannot(agent, 'list its conversations')
      const found: AgentConversation[] = []
      for await (const session of sessionPages(wire, query)) found.push(conversationOf(session))
      return found
    })
  }

  const list = async (query: { cwd?: string }, signal: AbortSignal) => {
    const found = await listed(query, signal)
    return found.filter(({ cwd }) => query.cwd === undefined || cwd === query.cwd)
  }

  return {
    list,
    async *read(agentSessionId, signal) {
      const one = (await list({}, signal)).find((known) => known.agentSessionId === agentSessionId)
      if (!one) throw new ParleyError('not_found', `${agent.name} has no conversation ${agentSessionId}.`)
      yield* await withMemoryProgram({ ...options, folder: one.cwd }, signal, (program) =>
        replayOf(program, one),
      )
    },
  }
}

function conversationOf({ sessionId, cwd, title, updatedAt }: ListedSession): AgentConversation {
  const shown = (title ?? '').replace(/\s+/g, ' ').trim().slice(0, titleLength)
  return {
    agentSessionId: sessionId,
    cwd,
    title: shown || sessionId,
    updatedAt: Date.parse(updatedAt ?? '') || 0,
  }
}

async function replayOf(program: MemoryProgram, one: AgentConversation): Promise<readonly Remembered[]> {
  const { agent, about } = program
  const { agentSessionId: sessionId, cwd, updatedAt } = one
  if (!about.agentCapabilities?.loadSession) throw cannot(agent, 'replay its conversations')
  const translator = new ReplayTranslator(agent, { id: sessionId, at: updatedAt })
  program.listen((frame) => translator.receive(frame))
  const _meta = sessionMeta(agent, { trusted: false })
  const params = { sessionId, cwd, mcpServers: [], ...(_meta && { _meta }) }
  await signedIn(program, about, () => load(program, params))
  return translator.end()
}

export type MemoryOptions = AcpConnectionOptions & {
  readonly folder: string
}

const exitWaitMs = 1_500

/** Starts a program only to read from it, and ends it when `work` settles. */
export async function withMemoryProgram<T>(
  options: MemoryOptions,
  signal: AbortSignal,
  work: (program: MemoryProgram) => Promise<T>,
): Promise<T> {
  const { name } = options.agent
  const program = new MemoryProgram(options)
  try {
    const result = program.introduce().then(() => work(program))
    return await unlessAborted(result, signal, `Cancelled while ${name} listed its conversations.`)
  } catch (error) {
    throw await program.failure(error, signal)
  } finally {
    await program.end()
  }
}

export class MemoryProgram {
  readonly agent: KnownAgent
  readonly env: Readonly<Record<string, string>>
  readonly wire: ClientContext
  about: NativeInitialized = {}
  readonly #process = new AgentProcess()
  readonly #child: ReturnType<AgentProcess['spawn']>
  #listener: (frame: Frame) => void = () => undefined
  #replayed = false
  #failure: Error | undefined

  constructor({ agent, program, env, folder }: MemoryOptions) {
    this.agent = agent
    this.env = env
    this.#child = this.#process.spawn({ command: program, args: agent.args, cwd: folder, env })
    this.#child.once('error', (error) => {
      this.#failure = error
    })
    const wire = new Wire(this.#child, {
      received: async (frame) => this.#receive(frame),
      garbage: async () => undefined,
      sent: () => undefined,
      asked: async (method) => {
        throw RequestError.methodNotFound(method)
      },
    })
    this.wire = wire.agent
  }

  async introduce(): Promise<void> {
    this.about = await initialize(this.wire, this.agent)
  }

  /** Passes every later frame of the agent to `listener`. */
  listen(listener: (frame: Frame) => void): void {
    this.#listener = listener
  }

  /** True if anything was replayed since this function was last called. */
  readonly replayed = (): boolean => {
    const replayed = this.#replayed
    this.#replayed = false
    return replayed
  }

  async failure(error: unknown, signal: AbortSignal): Promise<ParleyError> {
    this.#process.kill()
    await this.#process.gone(exitWaitMs)
    const { name } = this.agent
    if (error instanceof RequestError)
      return new ParleyError('agent_failed', `${name} cannot list its conversations: ${errorMessage(error)}`)
    return cannotStart(error, { name, process: this.#process, failure: this.#failure, signal })
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#process.gone(exitWaitMs)
    await endGroup(this.#process, this.#child.pid)
  }

  #receive(frame: Frame): void {
    this.#replayed ||= frame.message?.method === 'session/update'
    this.#listener(frame)
  }
}
