/** Reads the text format of Prometheus, version 0.0.4, and throws on anything that a strict reader would refuse. */

export type Sample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type Family = { readonly type: string; readonly help: string; readonly samples: Sample[] }

const nameText = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const sampleLine = new RegExp(`^(${nameText})(?:\\{(.*)\\})? (\\S+)$`)
const labelPair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/

export function readPrometheus(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the text does not end with a line')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let help: { name: string; help: string } | undefined
  let current: { name: string; family: Family } | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const helped = new RegExp(`^# HELP (${nameText}) (.+)$`).exec(line)
    if (helped) {
      help = { name: helped[1]!, help: helped[2]! }
      continue
    }
    const typed = new RegExp(`^# TYPE (${nameText}) (counter|gauge|histogram)$`).exec(line)
    if (typed) {
      const [, name = '', type = ''] = typed
      if (help?.name !== name) throw new Error(`no HELP before the TYPE of ${name}`)
      if (families.has(name)) throw new Error(`${name} occurs twice`)
      current = { name, family: { type, help: help.help, samples: [] } }
      families.set(name, current.family)
      continue
    }
    const sample = readSample(line)
    if (!current || !belongs(sample.name, current)) throw new Error(`a sample outside its family: ${line}`)
    const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()])
    if (seen.has(key)) throw new Error(`a sample twice: ${line}`)
    seen.add(key)
    current.family.samples.push(sample)
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

function readSample(line: string): Sample {
  const [, name, labelText, valueText] = sampleLine.exec(line) ?? []
  if (name === undefined || valueText === undefined) throw new Error(`not a sample: ${line}`)
  const value = valueText === '+Inf' ? Number.POSITIVE_INFINITY : Number(valueText)
  if (Number.isNaN(value)) throw new Error(`not a number: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = labelText ?? ''; rest !== ''; ) {
    const [whole, label, escaped, comma] = labelPair.exec(rest) ?? []
    if (whole === undefined || label === undefined || escaped === undefined)
      throw new Error(`bad labels: ${line}`)
    if (label in labels) throw new Error(`a label twice: ${line}`)
    labels[label] = escaped.replace(/\\([\\"n])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign))
    rest = rest.slice(whole.length)
    if (comma === ',' && rest === '') throw new Error(`a comma too many: ${line}`)
  }
  return { name, labels, value }
}

function belongs(sample: string, { name, family }: { name: string; family: Family }): boolean {
  if (family.type !== 'histogram') return sample === name
  return [`${name}_bucket`, `${name}_sum`, `${name}_count`].includes(sample)
}

function checkFamily(name: string, { type, samples }: Family): void {
  if (type === 'counter' && !name.endsWith('_total')) throw new Error(`the counter ${name} is not a _total`)
  if (type === 'counter' && samples.some(({ value }) => value < 0)) throw new Error(`${name} fell below zero`)
  if (type !== 'histogram') return
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels))
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name.endsWith('_bucket'))
    const bounds = buckets.map(({ labels }) =>
      labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le),
    )
    const count = group.find((sample) => sample.name.endsWith('_count'))?.value
    const rises = (list: readonly number[]) =>
      list.every((value, index) => value >= (list[index - 1] ?? value))
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || !rises(bounds)) throw new Error(`the bounds of ${name}`)
    if (!rises(buckets.map(({ value }) => value))) throw new Error(`the buckets of ${name} do not rise`)
    if (buckets.at(-1)?.value !== count) throw new Error(`the count of ${name} is not its last bucket`)
    if (!group.some((sample) => sample.name.endsWith('_sum'))) throw new Error(`${name} has no sum`)
  }
}

/** The value of one sample; 0 if it is missing, as in Prometheus's own functions. */
export function sampleValue(
  families: Map<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = JSON.stringify(Object.entries(labels).sort())
  const samples = [...families.values()].flatMap((family) => family.samples)
  const found = samples.find(
    (sample) => sample.name === name && JSON.stringify(Object.entries(sample.labels).sort()) === wanted,
  )
  return found?.value ?? 0
}
