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

describe('what is said of an agent before a session is begun', () => {
  it('is nothing where it is ready, or may be', () => {
    expect([said('ready'), said('unsure'), said(undefined), said('never heard of')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('is what is wrong', () => {
    expect(said('out')).toBe('OUT is not signed in.')
    expect(said('old')).toBe('OLD cannot be used.')
  })

  it('is that another one is chosen where it is not there', () => {
    expect(said('gone')).toBe('GONE is not installed. READY is selected instead.')
    expect(agentNotice([gone], undefined, pickAgent([gone], undefined))).toBeUndefined()
  })
})

describe('the agent of a new session', () => {
  it('is the one meant, else one that is ready, else one that is there', () => {
    expect(pickAgent(all, 'out')).toBe(out)
    expect(pickAgent(all, undefined)).toBe(ready)
    expect(pickAgent([gone, out], undefined)).toBe(out)
    expect(pickAgent([gone], 'gone')).toBeUndefined()
  })
})
