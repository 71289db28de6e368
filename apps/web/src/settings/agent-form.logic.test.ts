import { expect, it } from 'vitest'
import { agentOf, emptyAgent } from './agent-form.logic.ts'

it.each([
  [
    { id: ' mine ', command: ' my-agent ' },
    { id: 'mine', command: 'my-agent' },
  ],
  [
    { id: 'mine', name: 'Mine', command: '/opt/mine', args: ' --acp  -v ' },
    { id: 'mine', name: 'Mine', command: '/opt/mine', args: ['--acp', '-v'] },
  ],
])('turns %j into the agent %j', (form, agent) => {
  expect(agentOf({ ...emptyAgent, ...form })).toEqual({ body: agent })
})

it.each([[{ command: 'x' }], [{ id: 'My Agent', command: 'x' }], [{ id: 'mine' }]])(
  'reports the missing field of %j',
  (form) => {
    expect(agentOf({ ...emptyAgent, ...form })).toEqual({ problem: expect.any(String) })
  },
)
