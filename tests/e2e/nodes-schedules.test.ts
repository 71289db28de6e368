import type { Client, MirrorSnapshot } from '@parley/client'
import { afterAll, expect, it } from 'vitest'
import { randomFrom, sleep } from './killable-server.ts'
import { type NodeProcess, NodesFixture } from './nodes-fixture.ts'
import { verified } from './proof-fixture.ts'
import { Watcher, Work } from './random-work.ts'
import { createSession } from './session-fixture.ts'

/**
 * Runs random schedules of failures on three nodes while people work, and checks the logs. `PARLEY_NODE_SCHEDULES`
 * sets the number of schedules, and `PARLEY_NODE_SEED` the first seed.
 */
const schedules = Number(process.env.PARLEY_NODE_SCHEDULES ?? 4)
const firstSeed = Number(process.env.PARLEY_NODE_SEED ?? Date.now() % 1_000_000)
/** Shorter than in production, so that more takeovers fit into a schedule. */
const lease = { leaseMs: 1_500, beatMs: 300, marginMs: 400 }
const settleMs = 30_000

let fixture: Promise<NodesFixture> | undefined
afterAll(async () => (await fixture)?.[Symbol.asyncDispose]())

it(`every log stays whole in ${schedules} random schedules of failures (seed ${firstSeed})`, async () => {
  fixture = NodesFixture.start({ lease })
  const nodes = await fixture
  const totals: Record<string, number> = {}
  for (let seed = firstSeed; seed < firstSeed + schedules; seed++) {
    const schedule = new Schedule(nodes, seed)
    const counts = await schedule.run().catch((error: Error) => {
      const faults = schedule.faults.join('\n')
      throw new Error(`seed ${seed}: ${error.message}\n${faults}\n${nodes.log}`, { cause: error })
    })
    if (process.env.PARLEY_NODE_SEED) console.log(`seed ${seed}: ${JSON.stringify(counts)}`)
    for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count
  }
  console.log(`${schedules} schedules from seed ${firstSeed}: ${JSON.stringify(totals)}`)
}, 3_600_000)

function describe({ status, view: { state } }: MirrorSnapshot): string {
  const { id, seq, turn, queue, requests } = state
  return `${id} ${status} at ${seq}: ${JSON.stringify({ turn, queue: queue.length, requests })}`
}

type Fault = (node: NodeProcess) => Promise<unknown>

class Schedule {
  /** The faults with their times, shown if the test fails. */
  readonly faults: string[] = []
  readonly #nodes: NodesFixture
  readonly #seed: number
  readonly #random: () => number
  readonly #startedAt = performance.now()
  readonly #failing = new Set<NodeProcess>()
  #isPostgresDown = false

  constructor(nodes: NodesFixture, seed: number) {
    this.#nodes = nodes
    this.#seed = seed
    this.#random = randomFrom(seed)
  }

  async run(): Promise<Record<string, number>> {
    const nodes = this.#nodes
    const random = this.#random
    const { clients } = nodes
    const cwd = nodes.newFolder(`schedule-${this.#seed}`)
    const sessions = await Promise.all(clients.slice(0, 2).map((client) => createSession(client, cwd)))
    const watchers = clients.flatMap((client) => sessions.map((id) => new Watcher(client, id)))
    const work = new Work({ clients, sessions, random })
    const submitting = Promise.all([work.submitOnAndOn(200), work.submitOnAndOn(200)])
    const answering = Promise.all(watchers.map((watcher) => work.answerOnAndOn(watcher)))
    const failed = Promise.all([submitting, answering]).then(() => new Promise<never>(() => undefined))
    try {
      await Promise.race([failed, this.#fail()])
      await nodes.allUp()
      work.stopSubmitting()
      await Promise.race([failed, this.#inTime('a prompt to be answered', submitting)])
      const idle = Promise.all(watchers.map((watcher) => watcher.untilIdle(work.heads)))
      await Promise.race([failed, this.#inTime('the sessions to be idle', idle)])
      work.stopAnswering()
      await answering
      await Promise.all(watchers.map((watcher) => watcher.compare()))
      for (const watcher of watchers) expect(watcher.problems).toEqual([])
      expect(await nodes.termProblems()).toEqual([])
      for (const [index, session] of sessions.entries()) {
        const client = clients[index % clients.length] as Client
        expect(await verified(client, session)).toMatchObject({
          findings: [],
          missingInLedger: [],
          isGood: true,
        })
      }
      const counts = await work.check(watchers.slice(0, sessions.length), cwd)
      return { ...counts, faults: this.faults.length }
    } catch (error) {
      const states = watchers.map(({ mirror }) => describe(mirror.getSnapshot()))
      throw new Error(`${(error as Error).message}\n${states.join('\n')}`, { cause: error })
    } finally {
      work.stopSubmitting()
      work.stopAnswering()
      for (const watcher of watchers) watcher.close()
    }
  }

  async #inTime(what: string, done: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`Timed out waiting for ${what}.`)), settleMs)
    })
    await Promise.race([done, late]).finally(() => clearTimeout(timer))
  }

  /** Causes failures, some of them at the same time, and repairs each of them after a while. */
  async #fail(): Promise<void> {
    const running: Promise<void>[] = []
    for (let left = 2 + Math.floor(this.#random() * 3); left > 0; left--) {
      await sleep(this.#random() * 600)
      running.push(this.#random() < 0.15 ? this.#failPostgres() : this.#failNode())
    }
    await Promise.all(running)
  }

  async #failNode(): Promise<void> {
    const free = this.#nodes.nodes.filter((node) => !this.#failing.has(node))
    const node = free[Math.floor(this.#random() * free.length)]
    if (!node) return
    this.#failing.add(node)
    const names = Object.keys(nodeFaults)
    const name = names[Math.floor(this.#random() * names.length)]!
    const ms = Math.floor(this.#random() * 1.5 * lease.leaseMs)
    this.#note(`${name} ${node.name} for ${ms} ms`)
    await nodeFaults[name]!(node)
    await sleep(ms)
    await node.start()
    this.#note(`${node.name} is up`)
    this.#failing.delete(node)
  }

  async #failPostgres(): Promise<void> {
    if (this.#isPostgresDown) return
    this.#isPostgresDown = true
    const kind = this.#random()
    const ms = Math.floor(this.#random() * lease.leaseMs)
    if (kind < 0.3) {
      this.#note('end all connections of PostgreSQL')
      await this.#nodes.endConnections()
    } else {
      const signal = kind < 0.6 ? 'SIGINT' : 'SIGQUIT'
      this.#note(`stop PostgreSQL by ${signal} for ${ms} ms`)
      await this.#nodes.postgres.stop(signal)
      await sleep(ms)
      await this.#nodes.postgres.start()
      this.#note('PostgreSQL is up')
    }
    this.#isPostgresDown = false
  }

  #note(what: string): void {
    this.faults.push(`${Math.round(performance.now() - this.#startedAt)} ms: ${what}`)
  }
}

const nodeFaults: Readonly<Record<string, Fault>> = {
  kill: (node) => node.end('SIGKILL'),
  stop: (node) => node.end('SIGTERM'),
  pause: async ({ server }) => server.signal('SIGSTOP'),
  'stall the database of': async ({ database }) => database.stall(),
  'cut the database of': async ({ database }) => database.cut(),
  'stall the links to': async ({ inbound }) => inbound.stall(),
  'cut the links to': async ({ inbound }) => inbound.cut(),
  'refuse links to': (node) => node.refuse(),
  isolate: async ({ inbound, database }) => {
    inbound.stall()
    database.stall()
  },
}
