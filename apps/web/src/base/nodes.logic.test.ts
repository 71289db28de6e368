import type { NodeInfo } from '@parley/protocol'
import { expect, it } from 'vitest'
import { isOwnPlace, machineOf, refreshDelay } from './nodes.logic.ts'

const node = (id: number, machine: string, state: NodeInfo['state'] = 'alive'): NodeInfo => ({
  id,
  url: `http://10.0.0.${id}:4747`,
  machine,
  place: `machine:${machine}`,
  version: '1.0.0',
  startedAt: 0,
  isSelf: id === 1,
  state,
})

it('names the machine of a session if there are several machines', () => {
  const nodes = [node(1, 'desk'), node(2, 'laptop')]
  expect(machineOf(nodes, 'machine:desk')).toEqual({ name: 'desk', isAway: false })
  expect(machineOf(nodes, 'machine:laptop')).toEqual({ name: 'laptop', isAway: false })
})

it('a place is local only if it is the place of the server of the page', () => {
  const nodes = [node(1, 'desk'), node(2, 'laptop')]
  expect(['machine:desk', 'machine:laptop'].map((place) => isOwnPlace(nodes, place))).toEqual([true, false])
  expect(isOwnPlace([], undefined)).toBe(true)
})

it('names no machine if all nodes are on one, before the nodes are known, and on SQLite', () => {
  expect(machineOf([node(1, 'desk'), node(2, 'desk')], 'machine:desk')).toBeUndefined()
  expect(machineOf([], 'machine:desk')).toBeUndefined()
  expect(machineOf([node(1, 'desk'), node(2, 'laptop')], undefined)).toBeUndefined()
})

it('names a machine that is away, even if it is the only other one or no longer known', () => {
  const nodes = [node(1, 'desk'), node(2, 'laptop', 'gone')]
  expect(machineOf(nodes, 'machine:laptop')).toEqual({ name: 'laptop', isAway: true })
  expect(machineOf(nodes, 'machine:desk')).toEqual({ name: 'desk', isAway: false })
  expect(machineOf([node(1, 'desk')], 'machine:5d41')).toEqual({ name: 'machine:5d41', isAway: true })
})

it('does not report a machine as away while one of its nodes is about to be replaced or another one runs', () => {
  expect(machineOf([node(1, 'desk', 'expired'), node(2, 'laptop')], 'machine:desk')?.isAway).toBe(false)
  const replaced = [node(1, 'desk', 'gone'), node(2, 'laptop'), node(3, 'desk')]
  expect(machineOf(replaced, 'machine:desk')?.isAway).toBe(false)
})

it('loads the nodes again soon if there are several, seldom if there is one, and never on SQLite', () => {
  const database = { version: '18.4', latencyMs: 1, clockSkewMs: 0 }
  const several = refreshDelay({ nodes: [node(1, 'desk'), node(2, 'desk')], database })
  expect(several).toBeLessThanOrEqual(3_000)
  expect(refreshDelay({ nodes: [node(1, 'desk')], database })).toBeGreaterThan(10_000)
  expect(refreshDelay({ nodes: [node(1, 'desk')] })).toBeUndefined()
  expect(refreshDelay({ nodes: [] })).toBeLessThanOrEqual(1_000)
})
