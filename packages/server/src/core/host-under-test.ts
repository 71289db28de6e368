import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter, AgentConnection, ConnectInput } from '@parley/adapter-kit'
import type { CommandInput, NewSessionInput, Receipt, SessionEvent, SessionState } from '@parley/protocol'
import { createGates, type Gates } from '../adapters/scripted/gates.ts'
import { createScriptedAdapter, type ScriptedAdapterOptions } from '../adapters/scripted/index.ts'
import type { PermissionStep, QuestionStep, Script } from '../adapters/scripted/script.ts'
import { memoryTranscript } from '../adapters/scripted/transcript.ts'
import { type CreateHostOptions, createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { systemClock } from '../system-clock.ts'
import { createHandClock, type HandClock } from '../testing/hand-clock.ts'
import type { Clock } from './clock.ts'
import type { Host } from './host.ts'
import type { HostOptions } from './host-options.ts'
import type { Limits } from './limits.ts'
import type { SessionStore } from './session-store.ts'

export type HostUnderTestOptions = {
  readonly limits?: Partial<Limits>
  readonly agent?: ScriptedAdapterOptions
  /** Wraps the scripted agent, to simulate a slower or a faulty agent. */
  readonly adapter?: (scripted: AgentAdapter) => AgentAdapter
  readonly store?: SessionStore
  readonly tools?: HostOptions['tools']
  readonly telemetry?: CreateHostOptions['telemetry']
  readonly freeBytes?: HostOptions['freeBytes']
  /** With a sealer and a ledger, logs have seals. */
  readonly sealer?: HostOptions['sealer']
  readonly ledger?: HostOptions['ledger']
  readonly sessionFolder?: HostOptions['sessionFolder']
  readonly folderChanges?: HostOptions['folderChanges']
  readonly worktrees?: HostOptions['worktrees']
  readonly projectCommands?: HostOptions['projectCommands']
}

/** A real host on a memory store with the scripted agent; the test advances its clock. */
export type HostUnderTest = AsyncDisposable & {
  readonly host: Host
  readonly store: SessionStore
  readonly gates: Gates
  readonly time: HandClock
  readonly cwd: string
  /** Every connection made, in order, with its input. */
  readonly connections: { readonly input: ConnectInput; readonly connection: AgentConnection }[]
  /** The problems that the host reported because it could not reject a pending call. */
  readonly problems: string[]
  create(given?: Partial<NewSessionInput>): Promise<SessionUnderTest>
  /** The number of effects that wrote to this file, if each wrote one character. */
  runs(path: string): number
  /** Closes the host and opens another on the same store. */
  restart(options?: Pick<HostUnderTestOptions, 'adapter'>): Promise<void>
  /**
   * Opens another host on the same store, as after a kill between two steps. The calls of the
   * first host to its ports never return after that.
   */
  killAndRestart(): Promise<void>
}

export async function hostUnderTest(options: HostUnderTestOptions = {}): Promise<HostUnderTest> {
  const cwd = mkdtempSync(join(tmpdir(), 'parley-host-'))
  const store = options.store ?? createMemoryStore()
  const gates = createGates()
  const time = createHandClock(Date.now())
  const { soon, yieldToIo } = systemClock
  const clock: Clock = { now: time.now, after: time.after, soon, yieldToIo }
  const connections: HostUnderTest['connections'] = []
  const problems: string[] = []
  const scripted = createScriptedAdapter({ gates, transcript: memoryTranscript(), ...options.agent })
  const noted: AgentAdapter = {
    ...scripted,
    async connect(input) {
      const connection = await scripted.connect(input)
      connections.push({ input, connection })
      return connection
    },
  }
  const lives = new Set<Life>()
  const start = (adapter = options.adapter) => {
    const life: Life = { isKilled: false, inFolders: new Set() }
    lives.add(life)
    return createHost({
      adapters: [adapter ? adapter(noted) : noted],
      store: whileAlive(store, life),
      clock,
      ...(options.limits && { limits: options.limits }),
      ...(options.tools && { tools: options.tools }),
      ...(options.telemetry && { telemetry: options.telemetry }),
      ...(options.freeBytes && { freeBytes: options.freeBytes }),
      sealer: options.sealer,
      ledger: options.ledger,
      sessionFolder: inFolders(options.sessionFolder, life),
      folderChanges: options.folderChanges,
      worktrees: inFolders(options.worktrees, life),
      projectCommands: options.projectCommands,
      problem: ({ doing, error }) => void problems.push(`${doing}: ${error}`),
    })
  }
  let host = await start()
  return {
    get host() {
      return host
    },
    store,
    gates,
    time,
    cwd,
    connections,
    problems,
    async create(given) {
      const { id } = await host.create({ agent: scripted.id, cwd, ...given })
      return new SessionUnderTest(() => host, id)
    },
    runs(path) {
      try {
        return readFileSync(join(cwd, path), 'utf8').length
      } catch {
        return 0
      }
    },
    async restart(next) {
      await closed(host, time)
      host = await start(next?.adapter)
    },
    async killAndRestart() {
      await kill(lives)
      host = await start()
    },
    async [Symbol.asyncDispose]() {
      await closed(host, time)
      rmSync(cwd, { recursive: true, force: true })
    },
  }
}

/** The life of a host that can be killed, with its running operations in folders. */
type Life = { isKilled: boolean; readonly inFolders: Set<Promise<unknown>> }

/** Kills the hosts. Two hosts must not work in the same folders at the same time, so running operations are awaited. */
async function kill(lives: ReadonlySet<Life>): Promise<void> {
  for (const life of lives) life.isKilled = true
  await Promise.allSettled([...lives].flatMap((life) => [...life.inFolders]))
}

function inFolders<Port extends object>(port: Port | undefined, life: Life): Port | undefined {
  return port && whileAlive(port, life, life.inFolders)
}

/** Wraps a port of a host. Once the host is killed, no call of the port settles. */
function whileAlive<Port extends object>(port: Port, life: Life, work = new Set<Promise<unknown>>()): Port {
  return new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...given: unknown[]) => {
        if (life.isKilled) await new Promise(() => undefined)
        const done = Promise.resolve(method.apply(target, given))
        work.add(done)
        const result = await done.finally(() => work.delete(done))
        if (life.isKilled) await new Promise(() => undefined)
        return result
      }
    },
  })
}

/** Advances the clock while a host closes, because the host may wait for an agent. */
async function closed(host: Host, time: HandClock): Promise<void> {
  let done = false
  const closing = host.close().finally(() => {
    done = true
  })
  while (!done) {
    time.advance(500)
    await systemClock.yieldToIo()
  }
  await closing
}

type WithoutId<Input> = Input extends unknown ? Omit<Input, 'commandId'> : never

let commands = 0
const patienceMs = 10_000

export class SessionUnderTest {
  readonly id: string
  readonly #host: () => Host

  constructor(host: () => Host, id: string) {
    this.#host = host
    this.id = id
  }

  command(command: WithoutId<CommandInput> & { commandId?: string }): Promise<Receipt> {
    return this.#host().command(this.id, { commandId: `command-${++commands}`, ...command } as CommandInput)
  }

  /** Submits a script; resolves with the prompt's id. */
  async submit(...script: Script): Promise<string> {
    return (await this.command({ type: 'prompt.submit', text: JSON.stringify(script) })).promptId ?? ''
  }

  /** Submits a script and waits for the end of its turn. */
  async play(...script: Script): Promise<SessionState> {
    const { turns } = await this.state()
    await this.submit(...script)
    return this.when((state) => state.turns === turns + 1 && !state.turn)
  }

  async decide(
    decision: 'allow' | 'deny',
    more: {
      scope?: 'once' | 'session' | 'project' | 'always'
      message?: string
      input?: unknown
      endTurn?: boolean
    } = {},
  ): Promise<Receipt> {
    const { requests } = await this.when((state) => state.requests.length > 0)
    return this.command({ type: 'permission.decide', requestId: requests[0]!.requestId, decision, ...more })
  }

  state(): Promise<SessionState> {
    return this.#host().state(this.id)
  }

  /** The state as soon as it satisfies the condition. */
  async when(holds: (state: SessionState) => boolean): Promise<SessionState> {
    for (const deadline = Date.now() + patienceMs; ; ) {
      const state = await this.state()
      if (holds(state)) return state
      if (Date.now() > deadline)
        throw new Error(`the state did not satisfy the condition: ${JSON.stringify(state)}`)
      await systemClock.yieldToIo()
    }
  }

  idle(): Promise<SessionState> {
    return this.when((state) => !state.turn && state.queue.length === 0)
  }

  async log(): Promise<SessionEvent[]> {
    const { seq } = await this.state()
    const { events } = await this.#host().read(this.id, { after: 0, limit: seq + 1 })
    return events.map(({ json }) => JSON.parse(json) as SessionEvent)
  }

  async events<Type extends SessionEvent['type']>(
    type: Type,
  ): Promise<Extract<SessionEvent, { type: Type }>[]> {
    const log = await this.log()
    return log.filter((event): event is Extract<SessionEvent, { type: Type }> => event.type === type)
  }

  async texts(): Promise<string[]> {
    return (await this.events('text.written')).map(({ text }) => text)
  }
}

export function permission(path: string, more: Partial<PermissionStep> = {}): PermissionStep {
  return {
    type: 'permission',
    name: 'Write',
    kind: 'edit',
    input: { path },
    effect: { writeFile: { path, text: 'x' } },
    ...more,
  }
}

export const colour: QuestionStep = {
  type: 'question',
  questions: [
    {
      id: 'colour',
      header: 'Colour',
      text: 'Which colour?',
      options: [{ label: 'red' }, { label: 'blue' }],
      multiple: false,
      freeText: false,
    },
  ],
}
