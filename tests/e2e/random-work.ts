import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client, Mirror } from '@parley/client'
import {
  applyEvents,
  type ErrorCode,
  emptyView,
  hasCode,
  type OpenRequest,
  type SessionEvent,
  type SessionView,
} from '@parley/protocol'
import { expect } from 'vitest'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { logProblems } from '../../packages/server/src/testing/invariants.ts'
import { sleep } from './killable-server.ts'
import { colour, logOf, permission } from './session-fixture.ts'

/** This file simulates people who work while servers fail, and checks that no work was lost or done twice. */

/** One client's view of one session: a mirror, and every event it has received. */
export class Watcher {
  readonly problems: string[] = []
  readonly mirror: Mirror
  readonly #client: Client
  readonly #received: SessionEvent[] = []
  readonly #unfollow: () => void

  constructor(client: Client, sessionId: string) {
    this.#client = client
    this.mirror = client.mirror(sessionId, { tail: 'all' })
    this.#unfollow = client.follow(sessionId, {
      onEvent: (event) => {
        if (event.seq !== this.#received.length + 1)
          this.problems.push(`received ${event.seq} after ${this.#received.length}`)
        this.#received.push(event as SessionEvent)
      },
    })
  }

  close(): void {
    this.#unfollow()
    this.mirror.close()
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

  log(): Promise<SessionEvent[]> {
    return logOf(this.#client, this.mirror.sessionId)
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

type WorkOptions = {
  readonly clients: readonly Client[]
  readonly sessions: readonly string[]
  readonly random: () => number
}

type Submitted = { session: string; marker: string; promptId: string }
type Decided = { session: string; requestId: string; outcome: 'allowed' | 'denied' }

/** Simulates people during failures: they send prompts without end, and answer every request. */
export class Work {
  readonly #options: WorkOptions
  readonly #submitted: Submitted[] = []
  readonly #decided: Decided[] = []
  /** For each session, the minimum seq that its log must reach: the seq of its last prompt. */
  readonly heads = new Map<string, number>()
  #prompts = 0
  #submitting = true
  #answering = true

  constructor(options: WorkOptions) {
    this.#options = options
  }

  stopSubmitting(): void {
    this.#submitting = false
  }

  stopAnswering(): void {
    this.#answering = false
  }

  async submitOnAndOn(pauseMs = 30): Promise<void> {
    const { sessions, random } = this.#options
    while (this.#submitting) {
      const count = this.#prompts++
      const session = sessions[count % sessions.length]!
      const marker = `prompt-${count}`
      await this.#tried(async () => {
        const text = JSON.stringify(scriptFor(`${session}-${marker}`, random))
        const { promptId, seq } = await this.#client().prompt(session, text)
        this.#submitted.push({ session, marker, promptId: promptId ?? '' })
        this.heads.set(session, Math.max(this.heads.get(session) ?? 0, seq))
      }, 'busy')
      await sleep(random() * pauseMs)
    }
  }

  async answerOnAndOn(watcher: Watcher): Promise<void> {
    const { random } = this.#options
    while (this.#answering) {
      const request = watcher.requests[Math.floor(random() * watcher.requests.length)]
      if (request) await this.#answer(watcher.mirror.sessionId, request)
      await sleep(random() * 20)
    }
  }

  #client(): Client {
    const { clients, random } = this.#options
    return clients[Math.floor(random() * clients.length)]!
  }

  async #answer(session: string, { type, requestId }: OpenRequest): Promise<void> {
    const isAllowed = this.#options.random() < 0.7
    const client = this.#client()
    await this.#tried(
      async () => {
        if (type === 'question') return void (await client.answer(session, requestId, { colour: 'red' }))
        await client.decide(session, requestId, isAllowed ? 'allow' : 'deny')
        this.#decided.push({ session, requestId, outcome: isAllowed ? 'allowed' : 'denied' })
      },
      ...(['conflict', 'not_found', 'busy'] as const),
    )
  }

  async #tried(work: () => Promise<void>, ...expected: ErrorCode[]): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!hasCode(error, ...expected)) throw error
    }
  }

  /**
   * Checks that each prompt is in the log once and its turn has ended, that acknowledged decisions hold, and that
   * allowed calls ran at most once and other calls did not run. Returns the number of turns by outcome.
   */
  async check(watchers: readonly Watcher[], cwd: string): Promise<Record<string, number>> {
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
      this.#checkDecisions(session, log)
      checkEffects(log, cwd)
    }
    return { prompts: this.#submitted.length, ...Object.fromEntries(outcomes) }
  }

  #checkDecisions(session: string, log: readonly SessionEvent[]): void {
    const resolved = new Map(
      log.flatMap((event) =>
        event.type === 'permission.resolved' ? [[event.requestId, event.outcome] as const] : [],
      ),
    )
    const decided = this.#decided.filter((one) => one.session === session)
    for (const { requestId, outcome } of decided) expect(resolved.get(requestId), requestId).toBe(outcome)
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
    [colour],
  ]
  return steps.filter(() => random() < 0.5).flat()
}
