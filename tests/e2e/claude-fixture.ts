import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient, type Mirror, type MirrorSnapshot } from '@parley/client'
import type {
  EventOf,
  EventType,
  NewSessionInput,
  OpenRequest,
  PromptPart,
  SessionEvent,
  SessionState,
} from '@parley/protocol'
import { expect, onTestFailed } from 'vitest'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import type {
  ModelAnswer,
  ModelRequest,
  ModelServer,
} from '../../packages/server/src/testing/model-server.ts'
import { TcpProxy } from '../../packages/server/src/testing/tcp-proxy.ts'
import { KillableServer } from './killable-server.ts'

/** The time limit of a wait. It is longer than any step here takes. */
const factMs = 30_000

/** The real Claude Code behind a real server process, with the real client in front and a scripted model behind it. */
export class ClaudeFixture implements AsyncDisposable {
  readonly server = new KillableServer()
  readonly #home: AgentHome
  readonly proxy: TcpProxy
  #client: Client | undefined
  #folders = 0
  readonly #shared = new Map<string, Promise<SessionFixture>>()

  private constructor(home: AgentHome, proxy: TcpProxy) {
    this.#home = home
    this.proxy = proxy
  }

  /**
   * `script` answers the calls that match it. For all other calls, the prompt contains the answers of the
   * model.
   */
  static async start(
    options: { script?: (model: ModelServer) => void; env?: Record<string, string> } = {},
  ): Promise<ClaudeFixture> {
    const home = await AgentHome.open(options.script && { prepare: options.script })
    const claude = new ClaudeFixture(home, await TcpProxy.open(Number(new URL(home.model.url).port)))
    claude.server.claudeEnvironment = {
      ...home.env('claude', { url: claude.proxy.url }),
      ...options.env,
    }
    await claude.server.start()
    return claude
  }

  get home(): string {
    return this.#home.path
  }

  get model(): ModelServer {
    return this.#home.model
  }

  get client(): Client {
    this.#client ??= createClient({
      url: this.server.url,
      token: this.server.token,
      backoff: { baseMs: 10, maxMs: 100 },
    })
    return this.#client
  }

  folder(): string {
    const folder = join(this.server.folder, `work-${++this.#folders}`)
    mkdirSync(folder)
    return folder
  }

  async session(settings: Partial<NewSessionInput> = {}): Promise<SessionFixture> {
    const { id, cwd } = await this.client.createSession({ agent: 'claude', cwd: this.folder(), ...settings })
    return new SessionFixture(this.client, id, cwd)
  }

  /**
   * The session with these settings that tests share, so that Claude Code is started once; each call resets it. After a
   * failed test, the next call creates a new session.
   */
  async sharedSession(settings: Partial<NewSessionInput> = {}): Promise<SessionFixture> {
    const key = JSON.stringify(settings)
    const creating = this.#shared.get(key) ?? this.session(settings)
    this.#shared.set(key, creating)
    onTestFailed(() => void this.#shared.delete(key))
    const session = await creating
    await session.reset()
    return session
  }

  follow(id: string, cwd = ''): SessionFixture {
    return new SessionFixture(this.client, id, cwd)
  }

  /** The blocks of this type that the model was given in its last call. */
  modelSaw(type: string): { readonly type: string }[] {
    const messages = (this.model.calls.at(-1)?.body?.messages ?? []) as { content: unknown }[]
    const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
    return blocks.filter((block) => block.type === type)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client?.close()
    await this.server.end('SIGTERM')
    await this.server.dispose()
    await this.proxy.close()
    await this.#home[Symbol.asyncDispose]()
  }
}

/** A session, with the actions that a test performs on it. */
export class SessionFixture {
  readonly id: string
  readonly folder: string
  readonly mirror: Mirror
  readonly #client: Client
  readonly #events: SessionEvent[] = []
  /** The number of turns that the session has when all prompts so far are done. */
  #turns = 0
  /** The `seq` at the last `reset`, or 0. A `Log` from this fixture contains only later events. */
  #logStart = 0

  constructor(client: Client, id: string, folder: string) {
    this.#client = client
    this.id = id
    this.folder = folder
    this.mirror = client.mirror(id, { tail: 'all' })
  }

  /** Waits until the session is idle, empties its folder, and leaves the events so far out of later logs. */
  async reset(): Promise<void> {
    const { seq } = await this.when(({ turn, queue }) => !turn && queue.length === 0)
    this.#logStart = seq
    for (const name of readdirSync(this.folder)) rmSync(join(this.folder, name), { recursive: true })
  }

  async prompt(words: string | PromptPart[]): Promise<void> {
    await this.#expectOneMore()
    await this.#client.prompt(this.id, words)
  }

  async steer(words: string): Promise<void> {
    await this.#client.prompt(this.id, words, { delivery: 'steer' })
  }

  async compact(): Promise<void> {
    await this.#expectOneMore()
    await this.#client.compact(this.id)
  }

  async #expectOneMore(): Promise<void> {
    const { turns, turn, queue } = await this.when(() => true)
    this.#turns = turns + (turn ? 1 : 0) + queue.length + 1
  }

  async when(fact: (state: SessionState) => boolean): Promise<SessionState> {
    try {
      const { view } = await this.mirror.until(
        ({ status, view: { state } }) => status === 'live' && fact(state),
        AbortSignal.timeout(factMs),
      )
      return view.state
    } catch (error) {
      const { status, view } = this.mirror.getSnapshot()
      const { connection, ...state } = view.state
      throw new Error(`${this.id} is ${status}: ${JSON.stringify({ ...state, timeline: view.timeline })}`, {
        cause: error,
      })
    }
  }

  /** The view as soon as this notice was recorded. */
  notice(code: string): Promise<MirrorSnapshot> {
    return this.mirror.until(({ view }) =>
      view.timeline.some(
        (block) => block.type === 'notice' && block.code === code && block.seq > this.#logStart,
      ),
    )
  }

  async request<Type extends OpenRequest['type']>(type: Type): Promise<Extract<OpenRequest, { type: Type }>> {
    const { requests } = await this.when((state) => state.requests.some((one) => one.type === type))
    return requests.find((one) => one.type === type) as Extract<OpenRequest, { type: Type }>
  }

  async decide(...[decision, options]: DecideWords): Promise<void> {
    const { requestId } = await this.request('permission')
    await this.#client.decide(this.id, requestId, decision, options)
    await this.when(({ settled }) => settled.some((one) => one.requestId === requestId))
  }

  /** Waits for the end of the last prompted turn. Returns the log; all of it must be valid. */
  async ended(): Promise<Log> {
    await this.when(({ turn, turns, queue }) => !turn && queue.length === 0 && turns >= this.#turns)
    const { events } = await this.#client.call('events', {
      params: { id: this.id },
      query: { after: this.#events.at(-1)?.seq ?? 0, limit: 5000 },
    })
    this.#events.push(...(events as SessionEvent[]))
    expect(logProblems(this.#events)).toEqual([])
    return new Log(this.#events, this.#logStart)
  }

  /** Sends one more prompt, to show that the session continues. */
  async completes(words: string | PromptPart[]): Promise<Log> {
    await this.prompt(words)
    const log = await this.ended()
    expect(log.end).toMatchObject({ outcome: 'completed' })
    return log
  }
}

type DecideWords = ['allow' | 'deny', Parameters<Client['decide']>[3]?]

export class Log {
  readonly events: readonly SessionEvent[]
  /** The connections to the agent since the session was created. */
  readonly connected: readonly EventOf<'agent.connected'>[]

  /** `events` are all events of a session. The log contains the events after `start`. */
  constructor(events: readonly SessionEvent[], start: number) {
    this.events = events.filter(({ seq }) => seq > start)
    this.connected = events.filter((event) => event.type === 'agent.connected')
  }

  all<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type)
  }

  ofTurn<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.all(type).filter(({ turnId }) => turnId === this.end.turnId)
  }

  get end(): EventOf<'turn.ended'> {
    const end = this.all('turn.ended').at(-1)
    if (!end) throw new Error('No turn has ended.')
    return end
  }

  get outcomes(): string[] {
    return this.all('turn.ended').map(({ outcome }) => outcome)
  }

  get said(): string {
    return this.ofTurn('text.written')
      .filter(({ parentToolCallId }) => parentToolCallId === undefined)
      .map(({ text }) => text)
      .join('\n')
  }

  get notices(): string[] {
    return this.ofTurn('agent.noticed').map(({ level, code }) => `${level} ${code}`)
  }

  get connections(): string[] {
    return [...new Set(this.connected.map(({ connectionId }) => connectionId))]
  }
}

/** Polls until there is a result, for conditions that no event reports. */
export async function seen<Found>(look: () => Found | undefined | false): Promise<Found> {
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** The content of a file, once it exists and is not empty. */
export function fileText(path: string): Promise<string> {
  return seen(() => existsSync(path) && readFileSync(path, 'utf8'))
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

export function call(name: string, input: unknown, id = 'toolu_a'): ModelAnswer {
  return { toolCalls: [{ name, id, arguments: JSON.stringify(input) }] }
}

export function bash(command: string): ModelAnswer {
  return call('Bash', { command, description: 'a command' })
}

export const done: ModelAnswer = { content: 'That is done.' }

/**
 * In plan mode Claude Code names a file for the plan. When it is asked to "Plan it.", the model writes that
 * file, as a real model does. It does this `times` times.
 */
export function scriptPlan(model: ModelServer, plan: string, times = 1): void {
  const response = () => {
    const [path] = /[^\s"'\\]+\/plans\/[^\s"'\\]+\.md/.exec(JSON.stringify(model.calls.at(-1)?.body)) ?? []
    return call('Write', { file_path: path, content: plan }, 'toolu_plan')
  }
  const isMine = ({ messages }: ModelRequest) => {
    const last = messages.findLast(({ role }) => role !== 'system')
    return last?.role === 'user' && JSON.stringify(last).includes('Plan it.')
  }
  model.script(isMine, Array(times).fill({ response }))
}
