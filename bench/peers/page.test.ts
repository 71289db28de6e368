import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sizes } from './metrics.ts'
import { ahead, performancePage } from './page.ts'
import type { Results, SideResult } from './results.ts'
import { packageSets, sides } from './sides.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const side = (name: SideResult['name'], rest: Partial<SideResult>): SideResult => ({
  name,
  samples: {},
  incomplete: {},
  failures: [],
  ...rest,
})

function resultsOf(...measured: SideResult[]): Results {
  const machine = { system: 'Linux', processor: 'Any', cores: 2, memoryGiB: 8, node: 'v24.0.0', load: 0 }
  return { date: '2026-01-02', seconds: 61, rounds: 3, sizes, machine, versions: [], sides: measured }
}

it('a side is ahead of Parley with the same agent if its median is less, and the overlap of the ranges is noted', () => {
  const results = resultsOf(
    side('parley', { samples: { first1: [10, 20, 30], first2: [5, 6, 7], flood: [1] } }),
    side('sdk', { samples: { first1: [1, 2, 3], first2: [4, 5, 8], flood: [2] } }),
    side('parley-opencode', { samples: { first1: [1, 1, 1], first2: [9] } }),
    side('opencode', { samples: { first1: [1, 1, 1], first2: [8] } }),
  )
  const found = { agent: 'claude', side: 'Claude Agent SDK' }
  expect(ahead(results)).toEqual([
    { ...found, metric: 'first1', theirs: 2, ours: 20, overlaps: false },
    { ...found, metric: 'first2', theirs: 5, ours: 6, overlaps: true },
    { agent: 'opencode', side: 'opencode serve', metric: 'first2', theirs: 8, ours: 9, overlaps: false },
  ])
  const page = performancePage(results)
  expect(page).toContain(
    '- **Claude Code, First text, turn 1**: Claude Agent SDK 2.00 ms, 90% less than Parley (20.0 ms)',
  )
  expect(page).toContain('17% less than Parley (6.00 ms; the ranges of the rounds overlap)')
  expect(page).toContain('| First text, turn 1 | 20.0 ms (10.0–30.0) | **2.00 ms** (1.00–3.00) |')
})

it('a side that loses text is not ahead, and the page says what it lost and why a row is empty', () => {
  const results = resultsOf(
    side('parley', { samples: { flood: [10] } }),
    side('sandbox-agent', { samples: { flood: [1] }, incomplete: { flood: 0.5 }, failures: ['It ended.'] }),
    side('ai-sdk', {}),
  )
  expect(ahead(results)).toEqual([])
  const page = performancePage(results)
  expect(page).toContain('In no row of this run.')
  expect(page).toContain('| **10.0 ms** | incomplete: 50% of the text | – |')
  expect(page).toContain('- **sandbox-agent (Claude Code)** failed in a round: It ended.')
  expect(page).toContain('**AI SDK provider (Claude Code)**, Replay of 20 turns: It keeps no conversation')
})

it('docs/performance.md is the page of docs/performance.json', () => {
  expect(read('docs/performance.md')).toBe(performancePage(JSON.parse(read('docs/performance.json'))))
})

it('every side with packages has a package set, and no peer is a dependency of Parley', () => {
  const named = sides.flatMap(({ packages }) => packages ?? [])
  expect(packageSets.map(({ name }) => name).sort()).toEqual([...named].sort())
  const manifests = ['package.json', 'packages/server/package.json', 'apps/web/package.json'].map(read).join()
  for (const { packages } of packageSets) expect(manifests).not.toContain(`"${Object.keys(packages)[0]}"`)
})
