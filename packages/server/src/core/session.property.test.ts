import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  applyEvents,
  emptyView,
  type OpenRequest,
  ParleyError,
  type Receipt,
  type SessionEvent,
} from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import type { Script } from '../adapters/scripted/script.ts'
import { memoryTranscript } from '../adapters/scripted/transcript.ts'
import { createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { logProblems } from '../testing/invariants.ts'
import { mortalStore } from '../testing/mortal-store.ts'
import { randomScript } from '../testing/random-script.ts'
import { TestReader } from '../testing/reader.ts'
import type { Host } from './host.ts'

type Action =
  | { do: 'submit'; script: Script; delivery: 'queue' | 'steer' }
  | { do: 'answer'; allow: boolean; endTurn: boolean; twice: boolean }
  | { do: 'cancel' | 'withdraw' | 'repeat' | 'leave' | 'return' | 'rename' }
  | { do: 'breathe'; times: number }
  | { do: 'kill'; writes: number; applied: boolean; breaths: number; script: Script }
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
        'repeat' as const,
        'leave' as const,
        'return' as const,
        'rename' as const,
      ),
    }),
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
      breaths: fc.integer({ min: 0, max: 10 }),
    }),
  },
)

const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A session under fire: one store, one host after another, two clients that come and go. */
class Run {
  readonly #disk = createMemoryStore()
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-property-'))
  readonly #adapter = createScriptedAdapter({ id: 'scripted', transcript: memoryTranscript() })
  readonly problems: string[] = []
  readonly #receipts = new Map<string, { command: object; receipt: Receipt }>()
  #mortal = mortalStore(this.#disk)
  #host!: Host
  #sessionId = ''
  #commands = 0
  readers: TestReader[] = []

  async start(): Promise<void> {
    this.#host = await this.#newHost()
    const { id } = await this.#host.create({ agent: 'scripted', cwd: this.#folder })
    this.#sessionId = id
    this.readers = [new TestReader(id), new TestReader(id)]
    for (const reader of this.readers) await reader.follow(this.#host)
  }

  #newHost(): Promise<Host> {
    this.#mortal = mortalStore(this.#disk)
    return createHost({
      adapters: [this.#adapter],
      store: this.#mortal.store,
      limits: { cancelGraceMs: 50, stopGraceMs: 50 },
      problem: ({ error, doing }) => this.problems.push(`${doing}: ${error}`),
    })
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
      case 'repeat':
        return this.#repeat()
      case 'rename':
        await this.#host.patch(this.#sessionId, { title: 'renamed' })
        return
      case 'leave':
        this.readers[1]!.leave()
        return
      case 'return':
        if (!this.readers[1]!.connected) await this.readers[1]!.follow(this.#host)
        return
      case 'breathe':
        for (let i = 0; i < action.times; i++) await breathe()
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

  /** The same command again is one effect and the same receipt, also on another host. */
  async #repeat(): Promise<void> {
    for (const { command, receipt } of [...this.#receipts.values()].slice(-3)) {
      const head = (await this.#host.state(this.#sessionId)).seq
      const again = await this.#try(command)
      if (JSON.stringify(again) !== JSON.stringify(receipt))
        this.problems.push(`another receipt: ${JSON.stringify(again)}`)
      if (receipt.seq > head) this.problems.push('a receipt from the future')
    }
  }

  async #answer({
    allow,
    endTurn,
    twice,
  }: {
    allow: boolean
    endTurn: boolean
    twice: boolean
  }): Promise<void> {
    const [request] = (await this.#host.state(this.#sessionId)).requests
    if (!request) return
    const settle = () => this.#command(answerTo(request, allow, endTurn))
    const before = this.#receipts.size
    await Promise.all(twice ? [settle(), settle()] : [settle()])
    if (twice && this.#receipts.size - before !== 1)
      this.problems.push(`${this.#receipts.size - before} answers won`)
  }

  async #kill({ writes, applied, breaths, script }: ActionOf<'kill'>): Promise<void> {
    this.#mortal.killAt(writes, applied)
    void this.#command({ type: 'prompt.submit', text: JSON.stringify(script), delivery: 'queue' })
    void this.#answer({ allow: applied, endTurn: false, twice: false })
    for (let i = 0; i < breaths; i++) await breathe()
    this.#mortal.killAt(0, false)
    await this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    for (const reader of this.readers) {
      for (const block of reader.view.state.openBlocks) reader.killed.add(block.id)
      reader.leave()
    }
    this.#host = await this.#newHost()
    for (const reader of this.readers) await reader.follow(this.#host)
  }

  /** Answers everything and cancels what hangs, until the session is at rest. Nothing may keep it from that. */
  async settle(): Promise<void> {
    for (const reader of this.readers) if (!reader.connected) await reader.follow(this.#host)
    for (let rounds = 0; ; rounds++) {
      const { turn, queue, requests } = await this.#host.state(this.#sessionId)
      if (!turn && queue.length === 0) break
      if (requests[0]) await this.#command(answerTo(requests[0], true, false))
      else if (rounds % 40 === 39) await this.#command({ type: 'turn.cancel' })
      if (rounds > 4000) throw new Error(`the session does not come to rest: ${JSON.stringify(turn)}`)
      await breathe()
    }
    await breathe()
    await breathe()
  }

  async check(): Promise<void> {
    const state = await this.#host.state(this.#sessionId)
    const stored = await this.#disk.read(this.#sessionId, { after: 0, limit: 1_000_000 })
    const events = stored.map(({ json }) => JSON.parse(json) as SessionEvent)
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
    expect(this.problems).toEqual([])
  }

  /** Nothing ran without an allowed decision, and nothing ran more often than it was allowed. */
  #checkEffects(events: readonly SessionEvent[]): void {
    const allowed = new Map<string, number>()
    const asked = new Map<string, string>()
    for (const event of events) {
      if (event.type === 'permission.requested')
        asked.set(event.requestId, (event.input as { path: string }).path)
      if (event.type === 'permission.resolved' && event.outcome === 'allowed') {
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

it('keeps every invariant under random scripts, commands, disconnects and kills', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 25 }), async (actions) => {
      const run = new Run()
      try {
        await run.start()
        for (const action of actions) await run.perform(action)
        await run.settle()
        await run.check()
      } finally {
        await run.stop()
      }
    }),
    { numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 150), timeout: 10_000 },
  )
}, 300_000)
