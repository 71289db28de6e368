import { type Remote, startProcess } from '../lib/processes.ts'
import { percentile } from '../lib/stats.ts'
import type { MetricName, Sizes } from './metrics.ts'
import { lengthOf, type Task } from './model.ts'
import { agentFolders, type PlaceInput, placeFor } from './places.ts'
import type { SideResult } from './results.ts'
import type { Place, SideInfo } from './side.ts'
import type { SideCalls } from './side-process.ts'
import { endLeftovers, processorMs, residentBytes, storedBytes, type Usage } from './usage.ts'

export type RunInput = PlaceInput & {
  readonly sizes: Sizes
  readonly rounds: number
  readonly say: (line: string) => void
}

/** Measures the sides in rounds. The order of the sides changes with every round. */
export async function runSides(sides: readonly SideInfo[], input: RunInput): Promise<SideResult[]> {
  const all = sides.map((info) => new MeasuredSide(info, input))
  for (const side of all) {
    input.say(`${side.info.name}: bytes stored`)
    await side.attempt(() => side.measureStored())
  }
  for (let round = 0; round < input.rounds; round++) {
    const from = (round * 2) % all.length
    const order = [...all.slice(from), ...all.slice(0, from)]
    for (const side of round % 2 === 0 ? order : order.toReversed()) {
      input.say(`${side.info.name}: round ${round + 1} of ${input.rounds}`)
      await side.attempt(() => side.measureRound())
    }
  }
  return all.map((side) => side.result)
}

const few: Task = { do: 'write', deltas: 3 }
const idleSettleMs = 1_000
/** Longer than Parley waits before it starts a spare process, so that the spare counts and disturbs no measurement. */
const sessionSettleMs = 3_000
const maxFailures = 2

class MeasuredSide {
  readonly info: SideInfo
  readonly #input: RunInput
  readonly #place: Place
  readonly #samples: Partial<Record<MetricName, number[]>> = {}
  readonly #incomplete: Partial<Record<MetricName, number>> = {}
  readonly #failures: string[] = []

  constructor(info: SideInfo, input: RunInput) {
    this.info = info
    this.#input = input
    this.#place = placeFor(info, input)
  }

  get result(): SideResult {
    const { name } = this.info
    return { name, samples: this.#samples, incomplete: this.#incomplete, failures: this.#failures }
  }

  /** A side that fails repeatedly is not started again. */
  async attempt(work: () => Promise<void>): Promise<void> {
    if (this.#failures.length >= maxFailures) return
    try {
      await work()
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
      this.#failures.push(withoutPaths(message).slice(0, 200))
      this.#input.say(`${this.info.name} FAILED: ${message}`)
    }
  }

  /**
   * Measures the bytes that are stored per turn: the growth of the stored files in a run with many turns, less the
   * growth in a run with one turn. A run with many turns comes before these two: it writes the files that are written
   * only once, and fills the free pages of databases.
   */
  async measureStored(): Promise<void> {
    const { storedTurns } = this.#input.sizes
    const full = await this.#storedAfter(1 + storedTurns)
    const one = await this.#storedAfter(1)
    const again = await this.#storedAfter(1 + storedTurns)
    const perTurn = (of: (usage: Usage) => number) =>
      (of(again) - of(one) - (of(one) - of(full))) / storedTurns
    this.#add(
      'stored',
      perTurn(({ all }) => all),
    )
    this.#add(
      'storedOwn',
      perTurn(({ all, agent }) => all - agent),
    )
  }

  async #storedAfter(turns: number): Promise<Usage> {
    const side = this.#startProcess()
    try {
      await side.call('start')
      const task: Task = { do: 'write', deltas: this.#input.sizes.storedDeltas }
      await side.call('open', task)
      for (let turn = 1; turn < turns; turn++) await side.call('turn', task)
    } finally {
      await this.#stop(side)
    }
    return storedBytes(this.#place.home, agentFolders[this.info.agent])
  }

  async measureRound(): Promise<void> {
    const side = this.#startProcess()
    try {
      const before = this.info.isLibrary ? await side.call('resident') : undefined
      const { startMs } = await side.call('start')
      this.#add('start', startMs)
      await pause(idleSettleMs)
      await this.#measureMemory(side, before, 'idle')
      this.#add('first1', (await side.call('open', few)).firstMs)
      this.#add('first2', (await side.call('turn', few)).firstMs)
      await pause(sessionSettleMs)
      await this.#measureMemory(side, before, 'session')
      await this.#measureLatency(side)
      await this.#measureFlood(side)
      this.#add('firstNext', (await side.call('open', few)).firstMs)
      await this.#measureReplay(side)
      await this.#measureFanOut(side)
    } finally {
      await this.#stop(side)
    }
  }

  async #measureMemory(side: Remote<SideCalls>, before: number | undefined, metric: 'idle' | 'session') {
    const usage = residentBytes(this.#place.home, this.info.agent)
    if (!usage) return
    const growth = before === undefined ? 0 : (await side.call('resident')) - before
    this.#add(metric, usage.all + growth)
    if (metric === 'session') this.#add('sessionOwn', usage.all - usage.agent + growth)
  }

  async #measureLatency(side: Remote<SideCalls>): Promise<void> {
    const { rate, count } = this.#input.sizes
    const task: Task = { do: 'stamp', rate, count }
    const { ages, length } = await side.call('turn', task)
    if (this.#isComplete('latency50', length, lengthOf(task))) this.#add('latency50', percentile(ages, 50))
    if (this.#isComplete('latency99', length, lengthOf(task))) this.#add('latency99', percentile(ages, 99))
  }

  async #measureFlood(side: Remote<SideCalls>): Promise<void> {
    const { home } = this.#place
    const task: Task = { do: 'write', deltas: this.#input.sizes.flood }
    const [before, client] = [processorMs(home, this.info.agent), await side.call('processorMs')]
    const { lastMs, length } = await side.call('turn', task)
    const [after, clientAfter] = [processorMs(home, this.info.agent), await side.call('processorMs')]
    if (this.#isComplete('flood', length, lengthOf(task))) this.#add('flood', lastMs)
    if (!before || !after) return
    const all = after.all - before.all + (clientAfter - client)
    if (this.#isComplete('floodProcessor', length, lengthOf(task))) this.#add('floodProcessor', all)
    if (this.#isComplete('floodProcessorOwn', length, lengthOf(task)))
      this.#add('floodProcessorOwn', all - (after.agent - before.agent))
  }

  /** The session that is open has had one short turn. */
  async #measureReplay(side: Remote<SideCalls>): Promise<void> {
    if (this.info.cannot.replay) return
    const { turns, deltas } = this.#input.sizes
    const task: Task = { do: 'write', deltas }
    for (let turn = 0; turn < turns; turn++) await side.call('turn', task)
    const expected = turns * lengthOf(task) + lengthOf(few)
    const read = await side.call('read', expected)
    if (read && this.#isComplete('replay', read.length, expected)) this.#add('replay', read.lastMs)
  }

  async #measureFanOut(side: Remote<SideCalls>): Promise<void> {
    if (this.info.cannot.fanOut) return
    const { readers, fanOut } = this.#input.sizes
    const task: Task = { do: 'write', deltas: fanOut }
    const result = await side.call('fanOut', { task, readers })
    if (result && this.#isComplete('fanOut', result.length, lengthOf(task)))
      this.#add('fanOut', result.lastMs)
  }

  #isComplete(metric: MetricName, length: number, expected: number): boolean {
    if (length === expected) return true
    this.#incomplete[metric] = Math.min(this.#incomplete[metric] ?? 1, length / expected)
    return false
  }

  #add(metric: MetricName, value: number | undefined): void {
    if (value === undefined || this.info.cannot[metric]) return
    if (!Number.isFinite(value)) throw new Error(`No text came (${metric}).`)
    this.#samples[metric] = [...(this.#samples[metric] ?? []), value]
  }

  async #stop(side: Remote<SideCalls>): Promise<void> {
    await side.stop()
    endLeftovers(this.#place.home)
  }

  #startProcess(): Remote<SideCalls> {
    const given = { name: this.info.name, place: this.#place }
    // Packages of the peers may have sources of their own, which Node cannot load.
    return startProcess<SideCalls>('../peers/side-process.ts', given, { condition: 'default' })
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const withoutPaths = (message: string) => message.replaceAll(/(?:\/[\w.@-]+){2,}/g, '…')
