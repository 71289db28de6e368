import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BenchSession, killChildren } from '@parley/adapter-kit/testing'
import { afterAll, expect, it, onTestFailed } from 'vitest'
import type { Host } from '../../core/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { AgentHome } from '../../testing/agent-home.ts'
import { cutTranscript } from '../../testing/claude-transcript.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../testing/model-server.ts'
import { createClaudeAdapter } from './index.ts'

/** Tests turns that wait for a person after their process was closed, with the real program. */

const rounds = Number(process.env.PARLEY_CLAUDE_ROUNDS ?? 2)
const home = await AgentHome.forFile()

class Place implements AsyncDisposable {
  readonly cwd = home.folder('work')
  readonly #store = createMemoryStore()
  readonly #limits: { parkAfterMs?: number }
  #callsBefore = home.model.calls.length
  #sessionId: string | undefined
  host!: Host

  constructor(limits: { parkAfterMs?: number } = {}) {
    this.#limits = limits
  }

  async start(): Promise<void> {
    this.host = await createHost({
      adapters: [createClaudeAdapter({ env: home.env('claude') })],
      store: this.#store,
      limits: this.#limits,
    })
  }

  async session(mode: 'ask' | 'plan' = 'ask'): Promise<BenchSession> {
    await this.start()
    const { id } = await this.host.create({ agent: 'claude', cwd: this.cwd, mode })
    this.#sessionId = id
    return BenchSession.follow(() => this.host, id)
  }

  /**
   * Returns the session of the previous test or round, in mode ask. Its files are deleted; earlier events and model
   * calls are not counted.
   */
  async sessionAgain(): Promise<BenchSession> {
    if (this.#sessionId === undefined) return this.session()
    for (const name of readdirSync(this.cwd)) rmSync(join(this.cwd, name), { recursive: true })
    const { seq } = await this.host.state(this.#sessionId)
    const session = await BenchSession.follow(() => this.host, this.#sessionId, { start: seq })
    await session.command({ type: 'session.configure', mode: 'ask' })
    this.#callsBefore = home.model.calls.length
    return session
  }

  async restart(session: BenchSession): Promise<void> {
    await this.host.close()
    await this.start()
    await session.listen()
  }

  get modelCalls(): number {
    return home.model.calls.length - this.#callsBefore
  }

  file(name: string): string | undefined {
    try {
      return readFileSync(join(this.cwd, name), 'utf8')
    } catch {
      return undefined
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close()
  }
}

// The tests that restart the process anyway share one session. After a failed test, the next test gets a new session.
let shared: Place | undefined
const closeShared = async () => {
  const place = shared
  shared = undefined
  await place?.[Symbol.asyncDispose]()
}
afterAll(closeShared)

async function sharedSession(): Promise<{ place: Place; session: BenchSession }> {
  onTestFailed(closeShared)
  shared ??= new Place()
  return { place: shared, session: await shared.sessionAgain() }
}

const call = (name: string, input: unknown, id = 'toolu_a') => ({
  name,
  id,
  arguments: JSON.stringify(input),
})
const bash = (command: string, id?: string) => call('Bash', { command, description: 'a command' }, id)
const calling = (...toolCalls: ReturnType<typeof call>[]): ModelAnswer => ({ toolCalls })
const done: ModelAnswer = { content: 'That is done.' }
const writing = modelPrompt('Write it.', calling(bash('echo once >> note.txt')), done)

it('a deferred call that is allowed after a restart runs once, without a request to the model in between', async () => {
  const { place, session } = await sharedSession()
  const turn = await session.prompt(writing)
  const ask = await turn.asked()
  await place.restart(session)
  expect((await place.host.state(session.id)).requests).toMatchObject([
    { requestId: ask.requestId, stale: true },
  ])
  expect(place.modelCalls).toBe(1)
  await turn.decide(ask, 'allow')
  await turn.completed()
  expect(place.file('note.txt')).toBe('once\n')
  expect(place.modelCalls).toBe(2)
  expect(turn.all('tool-call.ended').map(({ outcome }) => outcome)).toEqual(['cancelled', 'completed'])
  await (await session.prompt(modelPrompt('Hello.', done))).completed()
})

it('a deferred call that is denied after a restart does not run, and the model receives the denial', async () => {
  const { place, session } = await sharedSession()
  const turn = await session.prompt(
    modelPrompt('Write it.', calling(bash('echo x > note.txt')), { say: 'history' }),
  )
  const { requestId } = await turn.asked()
  await place.restart(session)
  await session.command({ type: 'permission.decide', requestId, decision: 'deny', message: 'Rather not.' })
  expect(await turn.ended()).toMatchObject({ outcome: 'completed' })
  expect(place.file('note.txt')).toBeUndefined()
  expect(place.modelCalls).toBe(2)
  expect(turn.all('tool-call.ended').map(({ outcome }) => outcome)).toEqual(['cancelled', 'denied'])
  expect(JSON.stringify(home.model.calls.at(-1)?.body)).toContain('Rather not.')
})

it.each([
  ['the result of the first step', 'result', 1],
  ['the call of the second step', 'call', 2],
] as const)(
  'an agent that is killed in the second step before it has stored %s does not repeat the completed step',
  async (_, part, nth) => {
    await using place = new Place()
    const session = await place.session()
    const steps = [calling(bash('echo one >> note.txt')), calling(bash('echo two >> note.txt')), done]
    const turn = await session.prompt(modelPrompt('Add two lines.', ...steps))
    await turn.decide(await turn.asked(), 'allow')
    await session.until(() => turn.all('tool-call.ended')[0])
    const { requestId } = await turn.asked()
    await killChildren('claude-agent-sdk')
    await session.until(() => turn.all('turn.parked')[0])
    cutTranscript(home.path, place.cwd, part, nth)
    await turn.decide({ requestId }, 'allow')
    await turn.completed()
    expect(place.file('note.txt')).toBe('one\ntwo\n')
    expect(turn.all('permission.resolved').at(-1)).toMatchObject({ carriedFrom: requestId })
  },
)

it(`a request that waits for a long time needs no process, and its answer starts a process (${rounds} rounds)`, async () => {
  await using place = new Place({ parkAfterMs: 50 })
  for (let round = 0; round < rounds; round++) {
    const session = await place.sessionAgain()
    const turn = await session.prompt(writing)
    const ask = await turn.asked()
    await session.until(() => session.all('agent.disconnected').some(({ reason }) => reason === 'parked'))
    expect(await place.host.state(session.id)).toMatchObject({ connected: false, status: 'parked' })
    await turn.decide(ask, 'allow')
    await turn.completed()
    expect(place.file('note.txt')).toBe('once\n')
    expect(place.modelCalls).toBe(2)
  }
})

it.each([
  [
    'the mode has become wider',
    async (session: BenchSession) => {
      await session.command({ type: 'session.configure', mode: 'bypass' })
      return undefined
    },
  ],
  [
    'the folder is trusted and allows it',
    async (_: BenchSession, place: Place) => {
      mkdirSync(join(place.cwd, '.claude'))
      const settings = { permissions: { allow: ['Bash(touch:*)', 'Bash(cd:*)'] } }
      writeFileSync(join(place.cwd, '.claude', 'settings.json'), JSON.stringify(settings))
      await place.host.trust(place.cwd)
      return () => place.host.distrust(place.cwd)
    },
  ],
] as const)('a denial given while no process runs stays in effect, although %s', async (_, meanwhile) => {
  for (const command of ['touch note.txt', 'cd . && touch note.txt', 'sleep 0 | touch note.txt']) {
    const { place, session } = await sharedSession()
    const turn = await session.prompt(modelPrompt('Touch it.', calling(bash(command)), done))
    const { requestId } = await turn.asked()
    await place.restart(session)
    const undo = await meanwhile(session, place)
    await session.command({ type: 'permission.decide', requestId, decision: 'deny' })
    await turn.ended()
    expect(place.file('note.txt')).toBeUndefined()
    await undo?.()
  }
})

it('a call runs with the input that was edited while no process ran, although the mode has become wider', async () => {
  const { place, session } = await sharedSession()
  const turn = await session.prompt(modelPrompt('Touch it.', calling(bash('cd . && touch note.txt')), done))
  const ask = await turn.asked()
  await place.restart(session)
  await session.command({ type: 'session.configure', mode: 'accept-edits' })
  await turn.decide(ask, 'allow', { input: { command: 'touch other.txt', description: 'a command' } })
  await turn.completed()
  expect([place.file('note.txt'), place.file('other.txt')]).toEqual([undefined, ''])
})

it('a deferred call whose tool no longer exists does not break the conversation', async () => {
  await using place = new Place()
  const session = await place.session()
  const turn = await session.prompt(writing)
  await turn.asked()
  await place.restart(session)
  await session.command({ type: 'turn.cancel' })
  await session.command({ type: 'session.configure', options: { tools: ['Read'] } })
  await (await session.prompt(modelPrompt('Hello.', done))).completed()
  await place.restart(session)
  const again = await session.prompt(modelPrompt('Hello again.', done))
  expect((await again.completed()).outcome).toBe('completed')
})

it('the answer to a question reaches the model after a restart', async () => {
  const { place, session } = await sharedSession()
  const questions = [
    {
      question: 'Which colour?',
      header: 'Colour',
      multiSelect: false,
      options: [
        { label: 'red', description: 'warm' },
        { label: 'blue', description: 'cold' },
      ],
    },
  ]
  const turn = await session.prompt(
    modelPrompt('Ask.', calling(call('AskUserQuestion', { questions })), done),
  )
  const { requestId } = await turn.first(() => turn.all('question.asked')[0])
  await place.restart(session)
  await session.command({ type: 'question.answer', requestId, answers: { 1: 'blue' } })
  await turn.completed()
  expect(place.modelCalls).toBe(2)
  expect(JSON.stringify(home.model.calls.at(-1)?.body)).toContain(String.raw`\"Which colour?\"=\"blue\"`)
})

it('a plan that is approved after a restart sets the granted mode', async () => {
  await using place = new Place()
  const session = await place.session('plan')
  const turn = await session.prompt(
    modelPrompt('Plan.', calling(call('ExitPlanMode', { plan: 'This, then that.' })), done),
  )
  const ask = await turn.asked()
  await place.restart(session)
  await turn.decide(ask, 'allow')
  await turn.completed()
  expect(place.modelCalls).toBe(2)
  await session.command({ type: 'session.configure', options: { effort: 'low' } })
  await (await session.prompt(modelPrompt('Hello.', done))).completed()
  const { effective, requested } = await place.host.state(session.id)
  expect([effective.mode, requested.mode]).toEqual(['ask', 'ask'])
})

it('a cancelled parked turn leaves nothing behind: the model receives only the next prompt', async () => {
  const { place, session } = await sharedSession()
  const turn = await session.prompt(writing)
  await turn.asked()
  await place.restart(session)
  await session.command({ type: 'turn.cancel' })
  expect(await turn.ended()).toMatchObject({ outcome: 'cancelled' })
  const next = await session.prompt(modelPrompt('Hello.', { content: 'Hello to you.' }))
  await next.completed()
  expect(next.said).toBe('Hello to you.')
  expect(place.file('note.txt')).toBeUndefined()
  expect(place.modelCalls).toBe(2)
})

it('two open calls are not deferred but asked for again, and each decision applies once', async () => {
  await using place = new Place()
  const session = await place.session()
  const two = calling(bash('echo a >> a.txt', 'toolu_a'), bash('echo b >> b.txt', 'toolu_b'))
  const turn = await session.prompt(modelPrompt('Both.', two, done))
  const ask = await turn.asked()
  await session.until(() => turn.all('tool-call.called').length === 2)
  await place.restart(session)
  await turn.decide(ask, 'allow')
  await turn.completed()
  expect([place.file('a.txt'), place.file('b.txt')]).toEqual(['a\n', 'b\n'])
})
