import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient, type Mirror } from '@parley/client'
import {
  applyEvents,
  emptyView,
  type OpenRequest,
  ParleyError,
  type SessionEvent,
  type SessionView,
} from '@parley/protocol'
import { expect, it } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { KillableServer, moment, randomFrom } from './killable-server.ts'

const kills = Number(process.env.PARLEY_KILLS ?? 50)
const seed = Number(process.env.PARLEY_KILL_SEED ?? Date.now() % 1_000_000)

it(`survives ${kills} kills at random moments (seed ${seed})`, async () => {
  const server = new KillableServer()
  const random = randomFrom(seed)
  await server.start()
  const clients = [connect(server), connect(server)] as const
  const cwd = join(server.folder, 'work')
  mkdirSync(cwd)
  const sessions = await Promise.all(
    [0, 1, 2].map(async () => (await clients[0].createSession({ agent: 'scripted', cwd })).id),
  )
  const watchers = clients.flatMap((client) => sessions.map((id) => new Watcher(client, id)))
  const work = new Work(clients, sessions, random)
  try {
    const submitting = work.submitOnAndOn()
    const answering = watchers.slice(sessions.length).map((watcher) => work.answerOnAndOn(watcher))
    const failed = Promise.all([submitting, ...answering]).then(() => forever)
    for (let killed = 0; killed < kills; killed++) {
      await moment(random() * 250)
      await server.end('SIGKILL')
      await server.start()
      await Promise.race([failed, Promise.all(watchers.map((watcher) => watcher.compare()))])
    }
    work.stopSubmitting()
    await Promise.race([failed, submitting])
    const { heads } = work
    await Promise.race([failed, Promise.all(watchers.map((watcher) => watcher.untilIdle(heads)))])
    work.stopAnswering()
    await Promise.all(answering)
    await Promise.all(watchers.map((watcher) => watcher.compare()))
    for (const watcher of watchers) expect(watcher.problems).toEqual([])
    await work.check(watchers.slice(0, sessions.length), cwd)
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${server.log.slice(-2000)}`, { cause: error })
  } finally {
    for (const client of clients) client.close()
    await server.dispose()
  }
}, 900_000)

const forever = new Promise<never>(() => undefined)

function connect(server: KillableServer): Client {
  return createClient({ url: server.url, token: server.token, backoff: { baseMs: 5, maxMs: 60 } })
}

/** One client's view of one session: a mirror, and every event it has received. */
class Watcher {
  readonly problems: string[] = []
  readonly mirror: Mirror
  readonly #client: Client
  readonly #received: SessionEvent[] = []

  constructor(client: Client, sessionId: string) {
    this.#client = client
    this.mirror = client.mirror(sessionId, { tail: 'all' })
    client.follow(sessionId, {
      onEvent: (event) => {
        if (event.seq !== this.#received.length + 1)
          this.problems.push(`heard ${event.seq} after ${this.#received.length}`)
        this.#received.push(event as SessionEvent)
      },
    })
  }

  get requests(): readonly OpenRequest[] {
    return this.mirror.getSnapshot().view.state.requests
  }

  /**
   * Checks that the view equals the fold of the log up to its seq, and that every received event is in the
   * log.
   */
  async compare(): Promise<void> {
    const { view } = await this.mirror.until(({ status }) => status === 'live')
    const log = await this.log()
    const seen = log.slice(0, view.state.seq)
    const folded = applyEvents(emptyView(this.mirror.sessionId, view.state.epoch), seen)
    if (seen.length !== view.state.seq)
      this.problems.push(`the log has ${log.length}, the view ${view.state.seq}`)
    expect(settled(view)).toEqual(settled(folded))
    expect(this.#received.slice(0, log.length)).toEqual(log.slice(0, this.#received.length))
    expect(logProblems(log)).toEqual([])
  }

  async log(): Promise<SessionEvent[]> {
    const events: SessionEvent[] = []
    for (;;) {
      const page = await this.#client.call('events', {
        params: { id: this.mirror.sessionId },
        query: { after: events.length, limit: 5000 },
      })
      events.push(...(page.events as SessionEvent[]))
      if (events.length >= page.head) return events
    }
  }

  /** Resolves when the session is idle and its last prompt was received. */
  async untilIdle(heads: ReadonlyMap<string, number>): Promise<void> {
    const head = heads.get(this.mirror.sessionId) ?? 0
    await this.mirror.until(({ status, view: { state } }) => {
      const atRest = !state.turn && state.queue.length === 0
      return status === 'live' && state.seq >= head && atRest
    })
  }
}

/** The part of a view that the log determines. Open blocks are left out, because they come from deltas. */
function settled({ state, timeline }: SessionView) {
  const { openBlocks, ...rest } = state
  return { state: rest, timeline }
}

type Submitted = { session: string; marker: string; promptId: string }

/** Simulates people during the kills: they send prompts without end, and answer every request. */
class Work {
  readonly #clients: readonly [Client, Client]
  readonly #sessions: readonly string[]
  readonly #random: () => number
  readonly #submitted: Submitted[] = []
  /** For each session, the minimum seq that its log must reach: that of its last prompt. */
  readonly heads = new Map<string, number>()
  #submitting = true
  #answering = true

  constructor(clients: readonly [Client, Client], sessions: readonly string[], random: () => number) {
    this.#clients = clients
    this.#sessions = sessions
    this.#random = random
  }

  stopSubmitting(): void {
    this.#submitting = false
  }

  stopAnswering(): void {
    this.#answering = false
  }

  async submitOnAndOn(): Promise<void> {
    for (let count = 0; this.#submitting; count++) {
      const session = this.#sessions[count % this.#sessions.length]!
      const marker = `prompt-${count}`
      try {
        const { promptId, seq } = await this.#clients[0].prompt(
          session,
          JSON.stringify(scriptFor(marker, this.#random)),
        )
        this.#submitted.push({ session, marker, promptId: promptId ?? '' })
        this.heads.set(session, seq)
      } catch (error) {
        if (!(error instanceof ParleyError) || error.code !== 'busy') throw error
      }
      await moment(this.#random() * 30)
    }
  }

  async answerOnAndOn(watcher: Watcher): Promise<void> {
    const { sessionId } = watcher.mirror
    while (this.#answering) {
      const request = watcher.requests[Math.floor(this.#random() * watcher.requests.length)]
      if (request) await this.#answer(sessionId, request)
      await moment(this.#random() * 20)
    }
  }

  async #answer(sessionId: string, request: OpenRequest): Promise<void> {
    const client = this.#clients[1]
    try {
      if (request.type === 'question') await client.answer(sessionId, request.requestId, { colour: 'red' })
      else await client.decide(sessionId, request.requestId, this.#random() < 0.7 ? 'allow' : 'deny')
    } catch (error) {
      const late = error instanceof ParleyError && (error.code === 'conflict' || error.code === 'not_found')
      if (!late) throw error
    }
  }

  /**
   * Checks that each prompt is in the log once and its turn has ended, and that allowed calls ran once and
   * others did not run.
   */
  async check(watchers: readonly Watcher[], cwd: string): Promise<void> {
    const outcomes = new Map<string, number>()
    for (const watcher of watchers) {
      const session = watcher.mirror.sessionId
      const log = await watcher.log()
      const expected = this.#submitted
        .filter((one) => one.session === session)
        .map(({ promptId }) => promptId)
      const inLog = log.flatMap((event) => (event.type === 'prompt.submitted' ? [event.promptId] : []))
      expect(inLog).toEqual(expect.arrayContaining(expected))
      expect(inLog.length).toBe(new Set(inLog).size)
      expect(log.filter(({ type }) => type === 'turn.ended').length).toBe(inLog.length)
      for (const event of log)
        if (event.type === 'turn.ended') outcomes.set(event.outcome, (outcomes.get(event.outcome) ?? 0) + 1)
      checkEffects(log, cwd)
    }
    console.log(`${this.#submitted.length} prompts, outcomes ${JSON.stringify(Object.fromEntries(outcomes))}`)
    expect(outcomes.get('completed') ?? 0).toBeGreaterThan(0)
  }
}

function checkEffects(log: readonly SessionEvent[], cwd: string): void {
  const files = new Set(readdirSync(cwd))
  const asked = new Map(
    log.flatMap((event) =>
      event.type === 'permission.requested' ? [[event.requestId, event] as const] : [],
    ),
  )
  const allowed = new Map<string, number>()
  for (const event of log) {
    if (event.type !== 'permission.resolved') continue
    const { path } = asked.get(event.requestId)!.input as { path: string }
    allowed.set(path, (allowed.get(path) ?? 0) + (event.outcome === 'allowed' ? 1 : 0))
  }
  for (const [path, times] of allowed) {
    const ran = files.has(path) ? readFileSync(join(cwd, path), 'utf8').length : 0
    expect(ran, `${path} was allowed ${times} times`).toBeLessThanOrEqual(Math.min(times, 1))
  }
}

function scriptFor(marker: string, random: () => number): Script {
  const steps: Script[] = [
    [{ type: 'text', text: `This is ${marker}.`, pieces: 4 }],
    [{ type: 'thinking', text: 'Let me see.', pieces: 2 }],
    [{ type: 'flood', deltas: 200, size: 4, blocks: 2 }],
    [{ type: 'pause', ms: Math.floor(random() * 30) }],
    [{ type: 'tool', name: 'Read', kind: 'read', input: { path: marker }, output: ['one', 'two'] }],
    [permission(`${marker}-a`)],
    [{ type: 'parallel', calls: [permission(`${marker}-b`), permission(`${marker}-c`)] }],
    [question],
  ]
  return steps.filter(() => random() < 0.5).flat()
}

function permission(path: string) {
  return {
    type: 'permission' as const,
    name: 'Write',
    kind: 'edit' as const,
    input: { path },
    effect: { writeFile: { path, text: 'x' } },
  }
}

const question = {
  type: 'question' as const,
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
