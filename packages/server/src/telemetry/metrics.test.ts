import { describe, expect, it } from 'vitest'
import { createCounter, createHistogram, gaugeLines } from './metrics.ts'
import { readPrometheus, sampleValue } from './prometheus-under-test.ts'

const text = (...lines: string[][]) => `${lines.flat().join('\n')}\n`

describe('the text for Prometheus', () => {
  it('has counters with help, type and labels, for any label values', () => {
    const counter = createCounter({ name: 'things_total', help: 'Things\nof \\ two lines.', labels: ['of'] })
    const odd = 'a "quoted" \\ one\nand more'
    counter.add([odd])
    counter.add([odd], 2.5)
    counter.add(['plain'])
    const families = readPrometheus(text(counter.lines()))
    expect(families.get('things_total')).toMatchObject({
      type: 'counter',
      help: 'Things\\nof \\\\ two lines.',
    })
    expect(sampleValue(families, 'things_total', { of: odd })).toBe(3.5)
    expect(sampleValue(families, 'things_total', { of: 'plain' })).toBe(1)
  })

  it('ignores values that cannot be counted', () => {
    const counter = createCounter({ name: 'things_total', help: 'Things.', labels: [] })
    for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY, 0]) counter.add([], value)
    expect(readPrometheus(text(counter.lines())).get('things_total')?.samples).toEqual([])
  })

  it('has histograms with cumulative buckets', () => {
    const seconds = createHistogram({
      name: 'wait_seconds',
      help: 'Waits.',
      labels: ['by'],
      buckets: [0.1, 1, 10],
    })
    for (const value of [0, 0.1, 0.5, 10, 11, Number.NaN, -1]) seconds.observe(['person'], value)
    const families = readPrometheus(text(seconds.lines()))
    const below = (le: string) => sampleValue(families, 'wait_seconds_bucket', { by: 'person', le })
    expect([below('0.1'), below('1'), below('10'), below('+Inf')]).toEqual([2, 3, 4, 5])
    expect(sampleValue(families, 'wait_seconds_sum', { by: 'person' })).toBeCloseTo(21.6)
    expect(sampleValue(families, 'wait_seconds_count', { by: 'person' })).toBe(5)
  })

  it('has a limited number of series even if label values are unlimited, and loses no count', () => {
    const counter = createCounter({ name: 'things_total', help: 'Things.', labels: ['of'] })
    for (let index = 0; index < 10_000; index++) counter.add([`thing ${index}`])
    const samples = readPrometheus(text(counter.lines())).get('things_total')?.samples ?? []
    expect(samples.length).toBeLessThan(2_100)
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(10_000)
    expect(samples.find(({ labels }) => labels.of === 'other')?.value).toBe(8_000)
  })

  it('has gauges with and without labels', () => {
    const families = readPrometheus(
      text(
        gaugeLines({ name: 'live', help: 'Live.', labels: [] }, [[[], 3]]),
        gaugeLines({ name: 'clients', help: 'Clients.', labels: ['face'] }, [
          [['sse'], 1],
          [['websocket'], 0],
        ]),
      ),
    )
    expect(sampleValue(families, 'live')).toBe(3)
    expect(families.get('clients')?.samples).toHaveLength(2)
  })
})

describe('the Prometheus reader of these tests', () => {
  const heading = '# HELP a_total A.\n# TYPE a_total counter\n'
  it.each([
    ['no end of line', `${heading}a_total 1`],
    ['a type without help', '# TYPE a_total counter\na_total 1\n'],
    ['a family twice', `${heading}a_total 1\n${heading}a_total 2\n`],
    ['a sample twice', `${heading}a_total{b="1"} 1\na_total{b="1"} 2\n`],
    ['a sample of another family', `${heading}b_total 1\n`],
    ['an unescaped quote', `${heading}a_total{b="1"2"} 1\n`],
    ['no number', `${heading}a_total one\n`],
    ['a counter whose name does not end in _total', '# HELP a A.\n# TYPE a counter\na 1\n'],
  ])('refuses %s', (_, given) => {
    expect(() => readPrometheus(given)).toThrow()
  })
})
