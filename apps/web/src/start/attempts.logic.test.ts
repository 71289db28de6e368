import type { AgentInfo } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { attemptsOf, sharedModes } from './attempts.logic.ts'

const agent = (id: string, state: Partial<AgentInfo> = {}) =>
  ({ id, name: id, found: true, modes: ['ask', 'plan'], ...state }) as AgentInfo
const agents = [
  agent('claude'),
  agent('gone', { found: false }),
  agent('out', { signedIn: false }),
  agent('codex', { modes: ['ask', 'bypass'] }),
]
const ids = (chosen: Parameters<typeof attemptsOf>[0]) =>
  attemptsOf(chosen, agents, 'claude').map((one) => one.agent)

describe('the attempts of a new round', () => {
  it('get the agent of the page, then other agents that can be used, then the agent of the page again', () => {
    expect(ids([{}, {}, {}])).toEqual(['claude', 'codex', 'claude'])
  })

  it('keep what was chosen', () => {
    expect(ids([{ agent: 'codex' }, {}])).toEqual(['codex', 'claude'])
    expect(attemptsOf([{ model: 'small' }, { agent: 'claude' }], agents, 'claude')).toEqual([
      { agent: 'codex', model: 'small' },
      { agent: 'claude' },
    ])
  })

  it('offer only modes that all of their agents offer', () => {
    expect(sharedModes([{ agent: 'claude' }, { agent: 'codex' }], agents)).toEqual(['ask'])
    expect(sharedModes([{ agent: 'claude' }, { agent: 'claude' }], agents)).toEqual(['ask', 'plan'])
  })
})
