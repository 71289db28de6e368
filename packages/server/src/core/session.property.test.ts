import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import {
  applyEvents,
  emptyView,
  type OpenRequest,
  ParleyError,
  PermissionMode,
  type Receipt,
  type SessionEvent,
} from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import type { Script } from '../adapters/scripted/script.ts'
import { memoryTranscript } from '../adapters/scripted/transcript.ts'
import { createHost } from '../index.ts'
import { keysOf } from '../proof/keys.ts'
import { openSealer } from '../proof/seal-key.ts'
import { verifyLog } from '../proof/verify-log.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { systemClock } from '../system-clock.ts'
import { logProblems } from '../testing/invariants.ts'
import { killableStore } from '../testing/killable-store.ts'
import { randomScript } from '../testing/random-script.ts'
import { TestReader } from '../testing/reader.ts'
import { folderForFile } from '../testing/temporary-folder.ts'
import type { Clock } from './clock.ts'
import type { Host } from './host.ts'

const sealer = openSealer(join(folderForFile(), 'seal-key.pem'))

type Action =
  | { do: 'submit'; script: Script; delivery: 'queue' | 'steer' }
  | { do: 'answer'; allow: boolean; endTurn: boolean; twice: boolean }
  | {
      do:
        | 'cancel'
        | 'withdraw'
        | 'move'
        | 'resume'
        | 'repeat'
        | 'leave'
        | 'return'
        | 'rename'
        | 'compact'
        | 'close'
        | 'park'
    }
  | { do: 'configure'; settings: { model?: string; mode?: PermissionMode } }
  | { do: 'fill'; appends: number }
  | { do: 'breathe'; times: number }
  | { do: 'kill'; writes: number; applied: boolean; loopTurns: number; script: Script }
type ActionOf<Do extends Action['do']> = Extract<Action, { do: Do }>

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      script: randomScript,
      delivery: fc.constantFrom('queue' as const, 'queue' as const, 'steer' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      allow: fc.boolean(),
      endTurn: fc.boolean(),
      twice: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'cancel' as const,
        'withdraw' as const,
        'move' as const,
        'resume' as const,
        'repeat' as const,
        'leave' as const,
        'return' as const,
        'rename' as const,
        'compact' as const,
        'close' as const,
        'park' as const,
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('configure' as const),
      settings: fc.constantFrom<{ model?: string; mode?: PermissionMode }>(
        { model: 'scripted-small' },
        { model: 'unknown-model' },
        ...PermissionMode.options.map((mode) => ({ mode })),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('fill' as const), appends: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('breathe' as const), times: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('kill' as const),
      script: randomScript,
      writes: fc.integer({ min: 0, max: 6 }),
      applied: fc.boolean(),
      loopTurns: fc.integer({ min: 0, max: 10 }),
    }),
  },
)

type Conditions = {
  /** True if a request waits only briefly before its turn is parked. */
  parksSoon: boolean
  /**
   * The behaviour of the connection attempts, in a repeating cycle. A `deaf` attempt connects late, and ignores that it
   * was cancelled.
   */
  connects: ('at-once' | 'slow' | 'deaf' | 'fails')[]
}

const conditions: fc.Arbitrary<Conditions> = fc.record({
  parksSoon: fc.boolean(),
  connects: fc.array(
    fc.constantFrom(
      'at-once' as const,
      'at-once' as const,
      'slow' as const,
      'deaf' as const,
      'fails' as const,
    ),
    { minLength: 1, maxLength: 4 },
  ),
})

const timesFaster = 20

/** The clock of a host. Its timers end sooner than configured, and it counts the pending timers. */
class QuickClock implements Clock {
  readonly now = systemClock.now
  readonly soon = systemClock.soon
  readonly yieldToIo = systemClock.yieldToIo
  /** The number of pending timers that are not in the background, such as the timer of a retried write. */
  waiting = 0

  after(ms: number, call: () => void, how?: { background: true }): () => void {
    if (how) return systemClock.after(ms / timesFaster, call, how)
    let over = false
    const end = () => {
      if (!over) this.waiting--
      over = true
    }
    this.waiting++
    const stop = systemClock.after(ms / timesFaster, () => {
      end()
      call()
    })
    return () => {
      end()
      stop()
    }
  }
}

const yieldToIo = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A session under random faults: one store, one host after another, two clients that connect and disconnect. */
class Run {
  readonly #disk = createMemoryStore()
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-property-'))
  readonly #conditions: Conditions
  readonly #adapter: AgentAdapter
  readonly problems: string[] = []
  readonly #receipts = new Map<string, { command: object; receipt: Receipt }>()
  #killable = killableStore(this.#disk)
  #host!: Host
  #sessionId = ''
  #commands = 0
  #clock = new QuickClock()
  /** `#full` is the number of next appends that fail; `#refused` is the number of appends that have failed. */
  #full = 0
  #refused = 0
  readers: TestReader[] = []

  constructor(conditions: Conditions) {
    this.#conditions = conditions
    this.#adapter = withConnects(
      createScriptedAdapter({ id: 'scripted', transcript: memoryTranscript() }),
      conditions.connects,
    )
  }

  async start(): Promise<void> {
    this.#host = await this.#newHost()
    const { id } = await this.#host.create({ agent: 'scripted', cwd: this.#folder })
    this.#sessionId = id
    this.readers = [new TestReader(id), new TestReader(id)]
    for (const reader of this.readers) await reader.follow(this.#host)
  }

  #newHost(): Promise<Host> {
    this.#killable = killableStore(this.#disk)
    this.#clock = new QuickClock()
    const { store } = this.#killable
    return createHost({
      adapters: [this.#adapter],
      store: { ...store, append: (batch) => (this.#refuses() ? Promise.reject(full) : store.append(batch)) },
      clock: this.#clock,
      sealer,
      ledger: this.#disk,
      limits: {
        cancelGraceMs: 200,
        stopGraceMs: 200,
        ...(this.#conditions.parksSoon && { parkAfterMs: 20 }),
      },
      problem: ({ error, doing }) => error !== full && this.problems.push(`${doing}: ${error}`),
    })
  }

  #refuses(): boolean {
    if (this.#full === 0) return false
    this.#full--
    this.#refused++
    return true
  }

  async perform(action: Action): Promise<void> {
    switch (action.do) {
      case 'submit':
        return this.#command({
          type: 'prompt.submit',
          text: JSON.stringify(action.script),
          delivery: action.delivery,
        })
      case 'answer':
        return this.#answer(action)
      case 'cancel':
        return this.#command({ type: 'turn.cancel' })
      case 'withdraw': {
        const promptId = (await this.#host.state(this.#sessionId)).queue[0]?.promptId ?? 'none'
        return this.#command({ type: 'prompt.withdraw', promptId })
      }
      case 'move': {
        const { queue } = await this.#host.state(this.#sessionId)
        const [before, promptId] = [queue[0]?.promptId ?? 'none', queue.at(-1)?.promptId ?? 'none']
        return this.#command({ type: 'prompt.move', promptId, before })
      }
      case 'resume':
        return this.#command({ type: 'queue.resume' })
      case 'repeat':
        return this.#repeat()
      case 'rename':
        return this.#unlessFull(() => this.#host.patch(this.#sessionId, { title: 'renamed' }))
      case 'compact':
        return this.#command({ type: 'session.compact' })
      case 'close':
        return this.#command({ type: 'session.close' })
      case 'park':
        return this.#park()
      case 'configure':
        return this.#command({ type: 'session.configure', ...action.settings })
      case 'fill':
        this.#full = action.appends
        return
      case 'leave':
        this.#leave(this.readers[1]!)
        return
      case 'return':
        if (!this.readers[1]!.connected) await this.readers[1]!.follow(this.#host)
        return
      case 'breathe':
        for (let i = 0; i < action.times; i++) await yieldToIo()
        return
      case 'kill':
        return this.#kill(action)
    }
  }

  async #command(fields: object): Promise<void> {
    const command = { commandId: `command-${++this.#commands}`, ...fields }
    const outcome = await this.#try(command)
    if (outcome) this.#receipts.set(command.commandId, { command, receipt: outcome })
  }

  async #try(command: object): Promise<Receipt | undefined> {
    try {
      return await this.#host.command(this.#sessionId, command as Parameters<Host['command']>[1])
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error
      return undefined
    }
  }

  async #unlessFull(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error !== full) throw error
    }
  }

  /** Sends earlier commands again: each must have one effect and the same receipt, even on another host. */
  async #repeat(): Promise<void> {
    for (const { command, receipt } of [...this.#receipts.values()].slice(-3)) {
      const before = this.#countPromptsAndAnswers(await this.#log())
      const refused = this.#refused
      const again = await this.#try(command)
      const log = await this.#log()
      if (receipt.seq > log.length) this.problems.push('a receipt from the future')
      if (!again && this.#refused > refused) continue
      if (JSON.stringify(again) !== JSON.stringify(receipt))
        this.problems.push(`another receipt: ${JSON.stringify(again)}`)
      const after = this.#countPromptsAndAnswers(log)
      if (after !== before) this.problems.push(`${JSON.stringify(command)} again: ${before} became ${after}`)
      if (effectsOf(command, receipt, log) !== 1)
        this.problems.push(`${JSON.stringify(command)} has ${effectsOf(command, receipt, log)} effects`)
    }
  }

  /** The number of prompts and answers in the log. Only commands record them. */
  #countPromptsAndAnswers(log: readonly SessionEvent[]): string {
    const prompts = log.filter(({ type }) => type === 'prompt.submitted').length
    const answers = log.filter((event) => isAnswer(event)).length
    return `${prompts} prompts and ${answers} answers`
  }

  async #log(): Promise<SessionEvent[]> {
    return (await this.#lines()).map((line) => JSON.parse(line) as SessionEvent)
  }

  async #lines(): Promise<string[]> {
    const stored = await this.#disk.read(this.#sessionId, { after: 0, limit: 1_000_000 })
    return stored.map(({ json }) => json)
  }

  async #answer({ allow, endTurn, twice }: Omit<ActionOf<'answer'>, 'do'>): Promise<void> {
    const [request] = (await this.#host.state(this.#sessionId)).requests
    if (!request) return
    const settle = () => this.#command(answerTo(request, allow, endTurn))
    const before = this.#receipts.size
    await Promise.all(twice ? [settle(), settle()] : [settle()])
    const won = this.#receipts.size - before
    if (twice && won > 1) this.problems.push(`${won} answers won`)
  }

  /** If this run parks turns soon (`parksSoon`), waits until the turn is parked or no request is open. */
  async #park(): Promise<void> {
    for (let loopTurns = 0; loopTurns < 500 && this.#conditions.parksSoon; loopTurns++) {
      const { turn, requests } = await this.#host.state(this.#sessionId)
      if (requests.length === 0 || turn?.parked) return
      await yieldToIo()
    }
  }

  async #kill({ writes, applied, loopTurns, script }: ActionOf<'kill'>): Promise<void> {
    this.#killable.killAt(writes, applied)
    void this.#command({ type: 'prompt.submit', text: JSON.stringify(script), delivery: 'queue' })
    void this.#answer({ allow: applied, endTurn: false, twice: false })
    for (let i = 0; i < loopTurns; i++) await yieldToIo()
    this.#killable.killAt(0, false)
    await this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    for (const reader of this.readers) this.#leave(reader)
    this.#host = await this.#newHost()
    for (const reader of this.readers) await reader.follow(this.#host)
  }

  /** Disconnects a client and notes the open blocks, whose ends it misses. */
  #leave(reader: TestReader): void {
    for (const block of reader.view.state.openBlocks) reader.killed.add(block.id)
    reader.leave()
  }

  /**
   * Answers every request and cancels turns that hang, until the session is idle. Throws if the session does not
   * become idle in time.
   */
  async settle(): Promise<void> {
    this.#full = 0
    for (const reader of this.readers) if (!reader.connected) await reader.follow(this.#host)
    const deadline = Date.now() + 60_000
    for (let rounds = 0; ; rounds++) {
      const { turn, queue, requests } = await this.#host.state(this.#sessionId)
      if (!turn && queue.length === 0) break
      // The mode may refuse an answer that allows the call, so every second answer denies it.
      if (requests[0]) await this.#command(answerTo(requests[0], rounds % 2 === 0, false))
      else if (rounds % 40 === 39) await this.#command({ type: turn ? 'turn.cancel' : 'queue.resume' })
      if (Date.now() > deadline) throw new Error(`the session does not become idle: ${JSON.stringify(turn)}`)
      await yieldToIo()
    }
    await this.#untilQuiet()
  }

  /** Waits until no write is pending and nothing was recorded for a while. */
  async #untilQuiet(): Promise<void> {
    for (let quiet = 0, head = 0; quiet < 4; ) {
      await yieldToIo()
      const { seq } = await this.#host.state(this.#sessionId)
      quiet = seq === head && this.#clock.waiting === 0 ? quiet + 1 : 0
      head = seq
    }
  }

  async check(): Promise<void> {
    const state = await this.#host.state(this.#sessionId)
    const events = await this.#log()
    expect(logProblems(events)).toEqual([])
    expect(events.length).toBe(state.seq)
    const folded = applyEvents(emptyView(this.#sessionId, state.epoch), events)
    expect(folded.state).toEqual(state)
    for (const reader of this.readers) {
      expect(reader.problems).toEqual([])
      expect(reader.view.state).toEqual(state)
      expect(reader.view.timeline).toEqual(folded.timeline)
    }
    this.#checkEffects(events)
    const verified = verifyLog(await this.#lines(), keysOf([sealer.publicKey]))
    expect(verified.findings.filter(({ text }) => text !== 'the log has no seal')).toEqual([])
    expect(this.problems).toEqual([])
  }

  /**
   * Expects that nothing ran without a decision that allowed it, or more often than it was allowed. A carried answer
   * does not count as a second decision.
   */
  #checkEffects(events: readonly SessionEvent[]): void {
    const allowed = new Map<string, number>()
    const asked = new Map<string, string>()
    for (const event of events) {
      if (event.type === 'permission.requested')
        asked.set(event.requestId, (event.input as { path: string }).path)
      const first = event.type === 'permission.resolved' && event.carriedFrom === undefined
      if (first && event.outcome === 'allowed') {
        const file = asked.get(event.requestId) ?? ''
        allowed.set(file, (allowed.get(file) ?? 0) + 1)
      }
    }
    for (const file of readdirSync(this.#folder)) {
      const runs = readFileSync(join(this.#folder, file), 'utf8').length
      if (runs > (allowed.get(file) ?? 0))
        this.problems.push(`${file} ran ${runs} times, allowed ${allowed.get(file) ?? 0}`)
    }
  }

  async stop(): Promise<void> {
    await this.#host.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

const full = new ParleyError('busy', 'No space left; free some and try again.')

function withConnects(adapter: AgentAdapter, connects: Conditions['connects']): AgentAdapter {
  let count = 0
  return {
    ...adapter,
    async connect(input) {
      const how = connects[count++ % connects.length]
      if (how === 'fails') throw new ParleyError('agent_failed', 'It cannot be started.')
      if (how === 'at-once') return adapter.connect(input)
      for (let loopTurns = 0; loopTurns < 6; loopTurns++) await yieldToIo()
      return adapter.connect(how === 'deaf' ? { ...input, signal: new AbortController().signal } : input)
    },
  }
}

function isAnswer(event: SessionEvent): boolean {
  const resolved = event.type === 'permission.resolved' || event.type === 'question.resolved'
  return resolved && event.by === 'person' && event.carriedFrom === undefined
}

/** The number of events in the log that only this command can have recorded. */
function effectsOf(command: object, { promptId }: Receipt, log: readonly SessionEvent[]): number {
  if (promptId !== undefined)
    return log.filter((event) => event.type === 'prompt.submitted' && event.promptId === promptId).length
  if (!('requestId' in command)) return 1
  return log.filter(
    (event) => isAnswer(event) && 'requestId' in event && event.requestId === command.requestId,
  ).length
}

function answerTo(request: OpenRequest, allow: boolean, endTurn: boolean): object {
  const { requestId } = request
  if (request.type === 'question') {
    return { type: 'question.answer', requestId, answers: { colour: 'red' } }
  }
  return {
    type: 'permission.decide',
    requestId,
    decision: allow ? 'allow' : 'deny',
    ...(!allow && endTurn && { endTurn }),
  }
}

it('keeps every invariant under random scripts, commands, disconnects, full disks, bad starts and kills', async () => {
  await fc.assert(
    fc.asyncProperty(
      conditions,
      fc.array(action, { minLength: 1, maxLength: 60, size: 'max' }),
      async (around, actions) => {
        const run = new Run(around)
        try {
          await run.start()
          for (const action of actions) await run.perform(action)
          await run.settle()
          await run.check()
        } finally {
          await run.stop()
        }
      },
    ),
    { numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 150), timeout: 10_000 },
  )
}, 300_000)
