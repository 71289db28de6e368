import { type AgentInfo, capabilities } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { agentNotice, pickAgent } from './agent-notice.logic.ts'

const agent = (id: string, more: Partial<AgentInfo>): AgentInfo => ({
  id,
  name: id.toUpperCase(),
  capabilities: capabilities(),
  modes: ['ask'],
  found: true,
  ...more,
})
const ready = agent('ready', { signedIn: true })
const out = agent('out', { signedIn: false })
const gone = agent('gone', { found: false })
const old = agent('old', { signedIn: true, usable: false })
const unsure = agent('unsure', {})
const all = [gone, out, old, unsure, ready]

const said = (wanted: string | undefined) => {
  const notice = agentNotice(all, wanted, pickAgent(all, wanted))
  return notice?.text
}

describe('the notice about the agent of a new session', () => {
  it('is missing if the agent is ready or may be', () => {
    expect([said('ready'), said('unsure'), said(undefined), said('never heard of')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('says why the agent cannot be used', () => {
    expect(said('out')).toBe('OUT is not signed in.')
    expect(said('old')).toBe('OLD cannot be used.')
  })

  it('says that another agent is selected if the wanted one is not installed', () => {
    expect(said('gone')).toBe('GONE is not installed. READY is selected instead.')
    expect(agentNotice([gone], undefined, pickAgent([gone], undefined))).toBeUndefined()
  })
})

describe('the agent of a new session', () => {
  it('is the wanted one, else the first that is ready, else the first that is installed', () => {
    expect(pickAgent(all, 'out')).toBe(out)
    expect(pickAgent(all, undefined)).toBe(ready)
    expect(pickAgent([gone, out], undefined)).toBe(out)
    expect(pickAgent([gone], 'gone')).toBeUndefined()
  })
})
