import type { PermissionMode, PermissionRule, SessionOptions } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { ruleOf } from '../testing/store-samples.ts'
import { evaluate, type Subject } from './permission-rules.ts'

const tool = 'host:lookup'
const subject = (safe: boolean, readOnly = false): Subject => ({
  tool,
  kind: readOnly ? 'read' : 'other',
  input: { word: 'sage' },
  readOnly,
  host: { safe },
})
const state = (mode: PermissionMode, options: SessionOptions = {}) =>
  stateAfter({ ...created, mode, options }, { type: 'session.configured', effective: { mode } })
const rule = (decision: PermissionRule['decision'], pattern = tool) =>
  ruleOf(decision, { decision, tool: pattern })

describe('a safe host tool', () => {
  it.each<PermissionMode>(['ask', 'accept-edits', 'plan', 'bypass', 'read-only'])(
    'needs no permission in %s',
    (mode) => {
      expect(evaluate(subject(true), state(mode), [])).toMatchObject({ decision: 'allow', by: 'rule' })
    },
  )

  it.each<[string, PermissionRule, 'allow' | 'deny']>([
    ['is refused by a rule that denies it', rule('deny'), 'deny'],
    ['is refused by a rule that disables it', rule('disable'), 'deny'],
    ['is refused by a rule that denies every tool', rule('deny', '*'), 'deny'],
    ['is allowed despite a rule that asks', rule('ask'), 'allow'],
    ['is not affected by a rule about another tool', rule('deny', 'host:other'), 'allow'],
    [
      'is not affected by a rule about a tool of the agent with the same name',
      rule('deny', 'lookup'),
      'allow',
    ],
  ])('%s', (_, one, decision) => {
    expect(evaluate(subject(true), state('bypass'), [one]).decision).toBe(decision)
  })

  it('is refused if it is not in the list of tools', () => {
    expect(evaluate(subject(true), state('bypass', { tools: ['Read'] }), []).decision).toBe('deny')
    expect(evaluate(subject(true), state('ask', { tools: [tool] }), []).decision).toBe('allow')
  })
})

describe('a host tool that is not safe', () => {
  it.each<[PermissionMode, boolean, 'allow' | 'ask' | 'deny']>([
    ['ask', false, 'ask'],
    ['ask', true, 'ask'],
    ['read-only', false, 'deny'],
    ['read-only', true, 'allow'],
    ['bypass', false, 'allow'],
  ])('in mode %s, with readOnly %s, gets: %s', (mode, readOnly, decision) => {
    expect(evaluate(subject(false, readOnly), state(mode), []).decision).toBe(decision)
  })

  it('is allowed by a rule about it, and by no rule about a tool of the agent with the same name', () => {
    expect(evaluate(subject(false), state('ask'), [rule('allow')]).decision).toBe('allow')
    expect(evaluate(subject(false), state('ask'), [rule('allow', 'lookup')]).decision).toBe('ask')
  })
})

describe('in a session with host tools only,', () => {
  const only = (tools?: string[]) => state('bypass', { hostToolsOnly: true, ...(tools && { tools }) })
  const own: Subject = { tool: 'Read', kind: 'read', input: {}, readOnly: true }

  it('no other tool runs, in any mode and with any rules', () => {
    expect(evaluate(own, only(), [rule('allow', '*')])).toMatchObject({ decision: 'deny', by: 'rule' })
    expect(evaluate({ ...own, tool }, only(['Read', tool]), []).decision).toBe('deny')
  })

  it('host tools run if they are in the list', () => {
    expect(evaluate(subject(false), only(), []).decision).toBe('allow')
    expect(evaluate(subject(true), only([]), []).decision).toBe('deny')
  })
})
