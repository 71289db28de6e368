import { type AgentInfo, capabilities } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { nextStep } from './next-step.logic.ts'

const step = (more: Partial<AgentInfo>) =>
  nextStep({ id: 'one', name: 'One', capabilities: capabilities(), modes: ['ask'], found: true, ...more })
const install = { package: 'one', version: '1.0.0' }

describe('the next step with an agent', () => {
  it('is its button where Parley can install it, also while that runs', () => {
    expect(step({ found: false, install, hint: 'Type this.' })).toBe('install')
    expect(step({ install, installing: { since: 1, line: '' } })).toBe('install')
  })

  it('is what its probe says, with what to type', () => {
    expect(step({ found: false, hint: 'Get it.' })).toEqual({ text: 'Get it.' })
    expect(step({ signedIn: false, hint: 'Sign in.', command: 'one login' })).toEqual({
      text: 'Sign in.',
      command: 'one login',
    })
    expect(step({ usable: false, install, hint: 'Too old.' })).toEqual({ text: 'Too old.' })
    expect(step({ hint: 'Perhaps sign in.' })).toEqual({ text: 'Perhaps sign in.' })
  })

  it('is said where its probe says nothing', () => {
    expect(step({ found: false })).toEqual({ text: expect.stringMatching(/^Install it/) })
    expect(step({ signedIn: false })).toEqual({ text: expect.stringMatching(/^Sign in/) })
    expect(step({ usable: false })).toEqual({ text: expect.stringMatching(/^Update it/) })
  })

  it('is none where nothing is to be done', () => {
    expect([step({ signedIn: true, hint: 'Never mind.' }), step({})]).toEqual([undefined, undefined])
  })
})
