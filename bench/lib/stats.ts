export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** The value at `percent` of the sorted list, interpolated between neighbours. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new Error('Nothing was measured.')
  const sorted = values.toSorted((a, b) => a - b)
  const at = (percent / 100) * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  const above = sorted[Math.ceil(at)]!
  return below + (above - below) * (at - Math.floor(at))
}

export type Pair = { readonly ours: number; readonly bare: number }

/**
 * The median of each side, and the median of the ratios of the pairs. In a ratio, a disturbance that affects both
 * sides cancels out.
 */
export function compare(pairs: readonly Pair[]): { ours: number; bare: number; ratio: number } {
  return {
    ours: median(pairs.map((pair) => pair.ours)),
    bare: median(pairs.map((pair) => pair.bare)),
    ratio: median(pairs.map((pair) => pair.ours / pair.bare)),
  }
}

/** Measures the two sides alternately, so that other load on the machine affects both. */
export async function inTurns(
  rounds: number,
  ours: () => Promise<number>,
  bare: () => Promise<number>,
): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) pairs.push({ ours: await ours(), bare: await bare() })
    else {
      const second = await bare()
      pairs.push({ bare: second, ours: await ours() })
    }
  }
  return pairs
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
