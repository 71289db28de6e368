import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { processesIn } from '@parley/adapter-kit/testing'
import { type EventOf, type EventType, newId, type SessionEvent } from '@parley/protocol'
import { afterAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { logProblems } from '../../testing/invariants.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { TestReader } from '../../testing/reader.ts'
import { createClaudeAdapter } from './index.ts'
import {
  type Fault,
  faultyProgram,
  findRealProgram,
  knownProgram,
  repeatingProgram,
  shellProgram,
} from './programs-under-test.ts'

/**
 * Tests programs that die, exit without a result, hang or write garbage: each fault is reported, and the
 * session continues.
 */
await findRealProgram()
const agents = await AgentHome.forFile()
let home: string
beforeEach(() => {
  home = agents.folder('home')
})

const cancelGraceMs = 300
const words = 'One, two, three, four, five, six, seven, eight, nine, ten.'
const firstPrompt = modelPrompt('The word is parsley.', { content: 'I see.' })
const talk = modelPrompt('Talk.', { content: words })
const asked = modelPrompt('Which word?', { say: 'history' })

/** A host with one session on the given program. */
class Scene implements AsyncDisposable {
  readonly host: Host
  readonly #reader: TestReader

  private constructor(host: Host, sessionId: string) {
    this.host = host
    this.#reader = new TestReader(sessionId)
  }

  static async open(executable?: string, limits = {}): Promise<Scene> {
    const env = agents.env('claude', { home })
    const adapters = [createClaudeAdapter({ env, ...(executable && { executable }) })]
    const host = await createHost({
      adapters,
      store: createMemoryStore(),
      limits: { cancelGraceMs, ...limits },
    })
    const { id } = await host.create({ agent: 'claude', cwd: home })
    const scene = new Scene(host, id)
    await scene.#reader.follow(host)
    return scene
  }

  get state() {
    return this.#reader.view.state
  }

  until(fact: (state: Scene['state']) => boolean): Promise<void> {
    return this.#reader.until(({ state }) => fact(state))
  }

  async prompt(text: string): Promise<void> {
    const command = { type: 'prompt.submit', commandId: newId('cmd'), text } as const
    await this.host.command(this.state.id, command)
  }

  async cancel(): Promise<void> {
    await this.host.command(this.state.id, { type: 'turn.cancel', commandId: newId('cmd') })
  }

  /** Resolves with the `turn.ended` event of the next turn. */
  async end(): Promise<EventOf<'turn.ended'>> {
    const { turns } = this.state
    await this.until((state) => state.turns > turns && !state.turn)
    return (await this.all('turn.ended')).at(-1)!
  }

  async turn(text: string): Promise<EventOf<'turn.ended'>> {
    const [end] = await Promise.all([this.end(), this.prompt(text)])
    return end
  }

  async all<Type extends EventType>(type: Type): Promise<EventOf<Type>[]> {
    const { events } = await this.host.read(this.state.id, { after: 0, limit: 5000 })
    const log = events.map(({ json }) => JSON.parse(json) as SessionEvent)
    expect([...logProblems(log), ...this.#reader.problems]).toEqual([])
    return log.filter((event): event is EventOf<Type> => event.type === type)
  }

  async said(): Promise<string[]> {
    return (await this.all('text.written')).map(({ text }) => text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close()
  }
}

/** Runs one good turn, and a second one in which the program fails in the middle of the answer. */
async function playFault(fault: Fault): Promise<{ scene: Scene; end: EventOf<'turn.ended'> }> {
  const scene = await Scene.open(faultyProgram(home, fault, words.slice(0, 8)))
  await scene.turn(firstPrompt)
  return { scene, end: await scene.turn(talk) }
}

/** Checks that the same conversation continues, in another process if necessary. */
async function remembers(scene: Scene): Promise<void> {
  const end = await scene.turn(asked)
  expect(end.outcome).toBe('completed')
  expect((await scene.said()).at(-1)).toContain('parsley')
}

type KnownScene = { readonly scene: Scene; readonly home: string; pid(): number }
let known: KnownScene | undefined
const closeKnown = async () => {
  const closing = known
  known = undefined
  await closing?.scene[Symbol.asyncDispose]()
}
afterAll(closeKnown)

/**
 * A session after its first prompt, on a running program whose process id is known. Several tests share it. After a
 * failed test, the next test gets a new session.
 */
async function knownScene(): Promise<KnownScene> {
  onTestFailed(closeKnown)
  if (known === undefined) {
    const { path, pid } = knownProgram(home)
    known = { scene: await Scene.open(path), home, pid }
    await known.scene.turn(firstPrompt)
  }
  home = known.home
  return known
}

describe('a fault in the middle of an answer', () => {
  it.each([
    ['dies', 3, 'exited with code 3. The next prompt starts it again.', /words The disk is on fire.$/],
    ['leaves', 0, 'ended without a result. The next prompt starts it again.', /^$/],
  ] as const)(
    'the program %s: the turn fails with the last output of the program, and the conversation can be resumed',
    async (how, exitCode, why, last) => {
      const { scene, end } = await playFault(how)
      await using _ = scene
      expect(end).toMatchObject({ outcome: 'failed', stopReason: 'agent_lost' })
      expect(end.error).toMatchObject({ code: 'agent_failed', message: expect.stringContaining(why) })
      const tail = String(end.error?.details?.stderrTail ?? '')
      expect(tail).toMatch(last)
      expect(tail.length).toBeLessThanOrEqual(4_000)
      await remembers(scene)
      expect(await scene.all('agent.disconnected')).toMatchObject([{ reason: 'crashed', exitCode }])
    },
  )

  it('the program writes null, which the SDK cannot read: the turn fails, and the conversation can be resumed', async () => {
    const { scene, end } = await playFault('says null')
    await using _ = scene
    expect(end).toMatchObject({
      outcome: 'failed',
      stopReason: 'agent_lost',
      error: { code: 'agent_failed' },
    })
    await remembers(scene)
    expect(await scene.all('agent.disconnected')).toMatchObject([{ reason: 'crashed' }])
  })

  it('the program ends with a result without errors: the turn fails with a readable message', async () => {
    const { scene, end } = await playFault('ends without errors')
    await using _ = scene
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    expect(end.error?.message).toContain(
      'Claude Code failed, and its last message could not be read. The next prompt',
    )
    expect(end.error?.message).not.toContain('undefined')
    await remembers(scene)
  })

  it.each([
    ['babbles', [42, 'words']],
    ['floods stderr', []],
  ] as const)(
    'the program %s: the answer is complete, and values that are not messages are recorded unchanged: %j',
    async (how, values) => {
      const { scene, end } = await playFault(how)
      await using _ = scene
      expect(end.outcome).toBe('completed')
      expect(await scene.said()).toEqual(['I see.', words])
      expect((await scene.all('agent.unrecognised')).map(({ native }) => native)).toEqual(values)
      await remembers(scene)
      expect(await scene.all('agent.disconnected')).toEqual([])
    },
  )

  it('the program sends a message of an unknown type: the message is recorded unchanged, and the answer is complete', async () => {
    const { scene, end } = await playFault('speaks of news')
    await using _ = scene
    expect(end.outcome).toBe('completed')
    expect(await scene.all('agent.unrecognised')).toMatchObject([
      { native: { type: 'news', of: 'nobody knows what' } },
    ])
  })

  it('the program hangs: a cancel kills it, and the next prompt resumes the conversation', async () => {
    const { scene, pid } = await knownScene()
    const hold = agents.model.hold(6)
    await scene.prompt(talk)
    await hold.reached
    await scene.until(({ openBlocks }) => openBlocks.some((block) => 'text' in block && block.text !== ''))
    process.kill(pid(), 'SIGSTOP')
    const [end] = await Promise.all([scene.end(), scene.cancel()])
    hold.release()
    expect(end).toMatchObject({ outcome: 'cancelled', stopReason: 'cancelled' })
    await scene.until(({ connected }) => !connected)
    expect(processesIn(home)).toEqual([])
    await remembers(scene)
  })
})

it('a message that a resumed program repeats is recorded once', async () => {
  await using scene = await Scene.open(repeatingProgram(home))
  await scene.turn(firstPrompt)
  await scene.host.command(scene.state.id, { type: 'session.close', commandId: newId('cmd') })
  await scene.until(({ connected }) => !connected)
  await scene.turn(talk)
  expect(await scene.said()).toEqual(['I see.', words])
})

it('the end of a turn reports the steps of the turn and the time of its calls to the model', async () => {
  const { scene } = await knownScene()
  await scene.turn(firstPrompt)
  await scene.turn(talk)
  const ends = (await scene.all('turn.ended')).slice(-2)
  expect(ends.map(({ steps }) => steps)).toEqual([1, 1])
  for (const { modelMs, durationMs } of ends) {
    expect(modelMs).toBeGreaterThan(0)
    expect(modelMs).toBeLessThanOrEqual(durationMs)
  }
})

it('the program dies while it is idle: its end is recorded, and the next prompt resumes the conversation', async () => {
  const { scene, pid } = await knownScene()
  const { length } = await scene.all('agent.disconnected')
  process.kill(pid(), 'SIGKILL')
  await scene.until(({ connected }) => !connected)
  expect((await scene.all('agent.disconnected')).slice(length)).toMatchObject([
    { reason: 'crashed', signal: 'SIGKILL' },
  ])
  await remembers(scene)
})

it('the program dies while it runs a command: the command does not survive', async () => {
  const { path, pid } = knownProgram(home)
  await using scene = await Scene.open(path)
  const input = { command: 'echo begun > begun; tail -f /dev/null', description: 'Wait' }
  const call = { name: 'Bash', id: 'toolu_a', arguments: JSON.stringify(input) }
  const waits = modelPrompt('Wait.', { toolCalls: [call] }, { content: 'Done.' })
  const ended = scene.end()
  await scene.prompt(waits)
  await scene.until(({ requests }) => requests.length === 1)
  const [{ requestId } = { requestId: '' }] = scene.state.requests
  const decide = { type: 'permission.decide', decision: 'allow', commandId: newId('cmd'), requestId } as const
  await scene.host.command(scene.state.id, decide)
  await expect.poll(() => existsSync(join(home, 'begun')), goneIn).toBe(true)
  process.kill(pid(), 'SIGKILL')
  expect(await ended).toMatchObject({ outcome: 'failed', stopReason: 'agent_lost' })
  await expect.poll(() => processesIn(home), goneIn).toEqual([])
})

/** The SDK first asks a program to exit and kills it later, so the end of a program can take seconds. */
const goneIn = { timeout: 10_000 }

describe('a fault at the start', () => {
  it('the program dies: its stderr is reported, and no process is left', async () => {
    const program = shellProgram(home, 'dying', 'echo "No libc for you." >&2; exit 3')
    await using scene = await Scene.open(program)
    const end = await scene.turn(firstPrompt)
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    expect(JSON.stringify(end.error)).toContain('No libc for you.')
    expect(processesIn(home)).toEqual([])
  })

  it('the program writes nothing: the start times out, and the process is killed', async () => {
    const program = shellProgram(home, 'silent', 'exec tail -f /dev/null')
    await using scene = await Scene.open(program, { connectMs: 500 })
    const end = await scene.turn(firstPrompt)
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    expect(end.error?.message).toContain('did not start within')
    await expect.poll(() => processesIn(home), goneIn).toEqual([])
  })

  it('the program writes only garbage: the start times out, and the process is killed', async () => {
    const program = shellProgram(home, 'babbling', 'while :; do echo "la la la"; sleep 0.05; done')
    await using scene = await Scene.open(program, { connectMs: 500 })
    const end = await scene.turn(firstPrompt)
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    await expect.poll(() => processesIn(home), goneIn).toEqual([])
  })

  it('the program is not executable: the error names this reason', async () => {
    const program = shellProgram(home, 'forbidden', 'exit 0')
    chmodSync(program, 0o644)
    await using scene = await Scene.open(program)
    const end = await scene.turn(firstPrompt)
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
    expect(end.error?.message).toContain('failed to launch')
  })
})

it('a lost conversation is not silently replaced by a new one', async () => {
  const { scene, pid } = await knownScene()
  process.kill(pid(), 'SIGKILL')
  await scene.until(({ connected }) => !connected)
  const before = agents.model.calls.length
  forgetConversations()
  const end = await scene.turn(asked)
  expect(end).toMatchObject({ outcome: 'failed', error: { code: 'agent_failed' } })
  expect(end.error?.message).toContain('no longer has this conversation')
  expect(agents.model.calls.length).toBe(before)
})

function forgetConversations(): void {
  const projects = join(home, '.claude', 'projects')
  expect(readdirSync(projects).length).toBeGreaterThan(0)
  rmSync(projects, { recursive: true })
}
