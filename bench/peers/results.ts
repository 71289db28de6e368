import type { MetricName, Sizes } from './metrics.ts'
import type { SideName } from './side.ts'

/** The results of one run: the content of docs/performance.json, from which docs/performance.md is generated. */
export type Results = {
  readonly date: string
  readonly seconds: number
  readonly rounds: number
  readonly sizes: Sizes
  readonly machine: Machine
  /** The programs and packages that ran, in the order in which the page lists them. */
  readonly versions: readonly Version[]
  readonly sides: readonly SideResult[]
}

export type Machine = {
  readonly system: string
  readonly processor: string
  readonly cores: number
  readonly memoryGiB: number
  readonly node: string
  /** The load average when the run began. */
  readonly load: number
}

export type Version = { readonly name: string; readonly version: string; readonly licence: string }

export type SideResult = {
  readonly name: SideName
  /** The values of each metric, one for each round. */
  readonly samples: Partial<Record<MetricName, readonly number[]>>
  /** The share of the text that arrived, for metrics in which text was missing. Such a metric has no samples. */
  readonly incomplete: Partial<Record<MetricName, number>>
  /** Why the side failed in a round, without paths. */
  readonly failures: readonly string[]
}
