import { type AgentInfo, capabilities } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { nextStep } from './readiness.logic.ts'

const step = (more: Partial<AgentInfo>) =>
  nextStep({ id: 'one', name: 'One', capabilities: capabilities(), modes: ['ask'], found: true, ...more })
const install = { package: 'one', version: '1.0.0' }

describe('the next step of an agent', () => {
  it('is the install button if Parley can install the agent, also during the installation', () => {
    expect(step({ found: false, install, hint: 'Type this.' })).toBe('install')
    expect(step({ install, installing: { since: 1, line: '' } })).toBe('install')
  })

  it('is the hint of the probe, with the command to type', () => {
    expect(step({ found: false, hint: 'Get it.' })).toEqual({ text: 'Get it.' })
    expect(step({ signedIn: false, hint: 'Sign in.', command: 'one login' })).toEqual({
      text: 'Sign in.',
      command: 'one login',
    })
    expect(step({ usable: false, install, hint: 'Too old.' })).toEqual({ text: 'Too old.' })
    expect(step({ hint: 'Perhaps sign in.' })).toEqual({ text: 'Perhaps sign in.' })
  })

  it('is a default text if the probe gives no hint', () => {
    expect(step({ found: false })).toEqual({ text: expect.stringMatching(/^Install it/) })
    expect(step({ signedIn: false })).toEqual({ text: expect.stringMatching(/^Sign in/) })
    expect(step({ usable: false })).toEqual({ text: expect.stringMatching(/^Update it/) })
  })

  it('is undefined if the agent can be used', () => {
    expect([step({ signedIn: true, hint: 'Never mind.' }), step({})]).toEqual([undefined, undefined])
  })
})
