import type { NodeInfo } from '@parley/protocol'
import { expect, it } from 'vitest'
import { checkProblems } from './node-check.logic.ts'

const node = (id: number, more: Partial<NodeInfo> = {}): NodeInfo => ({
  id,
  url: `http://127.0.0.1:474${id}`,
  machine: 'vm',
  version: '1.0.0',
  startedAt: 0,
  isSelf: id === 1,
  state: 'alive',
  ...more,
})
const nodes = [node(1), node(2)]

it('names the URL of a node that another node on the same machine does not reach', () => {
  const checked = node(1, { cannotReach: [{ id: 2, problem: 'unreachable' }] })
  expect(checkProblems(checked, nodes)).toEqual([
    'Seen from this node, http://127.0.0.1:4742 (vm) cannot be reached.',
  ])
})

it('names the URL of a node that was not reached itself', () => {
  expect(checkProblems(node(2, { problem: 'no-answer' }), nodes)).toEqual([
    'http://127.0.0.1:4742 does not answer.',
  ])
})

it('says which PARLEY_NODE_URL to correct', () => {
  const [own] = checkProblems(node(2, { problem: 'not-a-node' }), nodes)
  expect(own).toContain('correct the PARLEY_NODE_URL of this node')
  const [other] = checkProblems(node(1, { cannotReach: [{ id: 2, problem: 'not-a-node' }] }), nodes)
  expect(other).toContain('correct the PARLEY_NODE_URL of that node')
})

it('finds no problem with a node that answers and reaches all others, and names an unlisted node by its id', () => {
  expect(checkProblems(node(1, { cannotReach: [] }), nodes)).toEqual([])
  const checked = node(1, { cannotReach: [{ id: 9, problem: 'unreachable' }] })
  expect(checkProblems(checked, nodes)).toEqual(['Seen from this node, node 9 cannot be reached.'])
})
