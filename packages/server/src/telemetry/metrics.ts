/** Counters, histograms and gauges in the text format of Prometheus. Independent of sessions. */

export type Metric = { lines(): string[] }

export type Counter = Metric & { add(labels: readonly string[], value?: number): void }
export type Histogram = Metric & { observe(labels: readonly string[], value: number): void }

type Description = {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

/**
 * The maximum number of series of each metric. Further label values are counted together under the label `other`, so
 * that the text stays bounded.
 */
const maxSeries = 2_000
const tooMany = 'other'

export function createCounter(description: Description): Counter {
  const series = createSeries(description, () => ({ value: 0 }))
  return {
    add(labels, value = 1) {
      if (value > 0 && Number.isFinite(value)) series.at(labels).value += value
    },
    lines: () => [
      ...heading(description, 'counter'),
      ...series.all().map(([labels, { value }]) => `${description.name}${labels()} ${value}`),
    ],
  }
}

export function createHistogram(
  description: Description & { readonly buckets: readonly number[] },
): Histogram {
  const { name, buckets } = description
  const series = createSeries(description, () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }))
  return {
    observe(labels, value) {
      if (!(value >= 0) || !Number.isFinite(value)) return
      const one = series.at(labels)
      one.sum += value
      one.count++
      const first = buckets.findIndex((bound) => value <= bound)
      if (first >= 0) one.counts[first] = (one.counts[first] ?? 0) + 1
    },
    lines: () => [
      ...heading(description, 'histogram'),
      ...series.all().flatMap(([labels, { counts, sum, count }]) => {
        let below = 0
        const rows = buckets.map((bound, index) => {
          below += counts[index] ?? 0
          return `${name}_bucket${labels(['le', String(bound)])} ${below}`
        })
        return [
          ...rows,
          `${name}_bucket${labels(['le', '+Inf'])} ${count}`,
          `${name}_sum${labels()} ${sum}`,
          `${name}_count${labels()} ${count}`,
        ]
      }),
    ],
  }
}

/** Formats a gauge, whose values are read on request. */
export function gaugeLines(
  description: Description & { readonly type?: 'gauge' | 'counter' },
  values: readonly (readonly [labels: readonly string[], value: number])[],
): string[] {
  const { name, labels, type = 'gauge' } = description
  return [
    ...heading(description, type),
    ...values.map(([given, value]) => `${name}${labelText(labels, given)} ${value}`),
  ]
}

type Labels = (...more: readonly (readonly [string, string])[]) => string

function createSeries<One>({ labels: names }: Description, make: () => One) {
  const series = new Map<string, { readonly labels: readonly string[]; readonly one: One }>()
  const find = (labels: readonly string[]) => {
    const key = labels.length === 1 ? (labels[0] ?? '') : labels.join('\u0000')
    return { key, found: series.get(key) }
  }
  return {
    at(labels: readonly string[]): One {
      const { key, found } = find(labels)
      if (found) return found.one
      if (series.size >= maxSeries) {
        const rest = names.map(() => tooMany)
        const { key: restKey, found: restFound } = find(rest)
        if (restFound) return restFound.one
        const one = make()
        series.set(restKey, { labels: rest, one })
        return one
      }
      const one = make()
      series.set(key, { labels, one })
      return one
    },
    all: (): [Labels, One][] =>
      [...series.values()].map(({ labels, one }) => [(...more) => labelText(names, labels, more), one]),
  }
}

function heading({ name, help }: Description, type: 'counter' | 'gauge' | 'histogram'): string[] {
  return [`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`]
}

function labelText(
  names: readonly string[],
  values: readonly string[],
  more: readonly (readonly [string, string])[] = [],
): string {
  const pairs = [...names.map((name, index) => [name, values[index] ?? ''] as const), ...more]
  if (pairs.length === 0) return ''
  return `{${pairs.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
