import type { NodeInfo } from '@parley/protocol'
import { expect, it } from 'vitest'
import { agentsPurpose } from './agents-purpose.logic.ts'

const node = (id: number, machine: string, state: NodeInfo['state'] = 'alive'): NodeInfo => ({
  id,
  url: `http://10.0.0.${id}:4747`,
  machine,
  version: '1.0.0',
  startedAt: 0,
  isSelf: id === 1,
  state,
})

it('with several nodes, the text names the node that listed the agents, and says where changes take effect', () => {
  const { purpose, note } = agentsPurpose(node(2, 'laptop'), [node(1, 'desk'), node(2, 'laptop')])
  expect(purpose).toBe('The coding agents on laptop, as the node http://10.0.0.2:4747 lists them.')
  expect(note).toContain('API keys belong to this node; a sign-in belongs to laptop')
})

it('without other nodes, the text names no node', () => {
  const nodes = [node(1, 'desk'), node(2, 'laptop', 'gone')]
  const plain = { purpose: 'The coding agents on the server’s machine.' }
  expect(agentsPurpose(node(1, 'desk'), nodes)).toEqual(plain)
  expect(agentsPurpose(undefined, [])).toEqual(plain)
})
