import { expect, it } from 'vitest'
import {
  endsWith,
  isHarmless,
  type NativeAgent,
  type NativeRule,
  ownDecision,
  sessionRules,
  unaskedBy,
  unaskedTools,
} from './rules.ts'

const rule = (permission: string, pattern: string, action: NativeRule['action']): NativeRule => ({
  permission,
  pattern,
  action,
})
const agent = (...permission: NativeRule[]): NativeAgent => ({ name: 'any', mode: 'primary', permission })
const everything = rule('*', '*', 'ask')
const free = rule('*', '*', 'allow')

it('sets every permission to ask, whatever the settings allow', () => {
  expect(sessionRules(agent(free, rule('bash', '*', 'allow')))).toEqual([everything])
  expect(sessionRules(undefined)).toEqual([everything])
})

it('keeps refusals, and sets their exceptions to ask', () => {
  const rules = sessionRules(
    agent(free, rule('edit', '*', 'deny'), rule('edit', 'plans/*', 'allow'), rule('bash', 'rm *', 'deny')),
  )
  expect(rules).toEqual([
    everything,
    rule('edit', '*', 'deny'),
    rule('edit', 'plans/*', 'ask'),
    rule('bash', 'rm *', 'deny'),
  ])
})

it('keeps the exceptions of an agent whose rules refuse everything else', () => {
  const rules = sessionRules(agent(free, rule('*', '*', 'deny'), rule('read', '*', 'allow')))
  expect(rules).toEqual([everything, rule('*', '*', 'deny'), rule('read', '*', 'ask')])
})

it('denies tools that would run without asking', () => {
  expect(unaskedTools(['bash', 'read', 'wipe', 'bash', 'write'])).toEqual(['wipe', 'bash'])
  expect(sessionRules(agent(free), ['wipe', 'write'])).toEqual([
    everything,
    rule('wipe', '*', 'deny'),
    rule('edit', '*', 'deny'),
  ])
})

it('recognises rules that are in place already', () => {
  expect(endsWith([free, everything], [everything])).toBe(true)
  expect(endsWith([everything, free], [everything])).toBe(false)
  expect(endsWith([], [everything])).toBe(false)
})

it('returns the decision of the rules of OpenCode itself', () => {
  const own = agent(free, rule('read', '*', 'allow'), rule('read', '*.env', 'ask'), everything)
  const verdict = (permission: string, ...patterns: string[]) => ownDecision(own, { permission, patterns })
  expect(verdict('read', 'src/a.ts')).toBe('allow')
  expect(verdict('read', 'src/.env')).toBe('ask')
  expect(verdict('read', 'src/a.ts', '.env')).toBe('ask')
  expect(verdict('glob', '*.ts')).toBe('allow')
  expect(ownDecision(undefined, { permission: 'read', patterns: ['a'] })).toBe('ask')
  const refused = agent(free, rule('bash', 'git *', 'deny'))
  expect(ownDecision(refused, { permission: 'bash', patterns: ['git push'] })).toBe('deny')
  expect(ownDecision(refused, { permission: 'bash', patterns: ['git'] })).toBe('deny')
  expect(ownDecision(refused, { permission: 'bash', patterns: ['github'] })).toBe('allow')
})

it('lists the actions that a subagent may perform without asking', () => {
  const outside = rule('external_directory', '/data/*', 'allow')
  expect(unaskedBy(agent(free, everything, outside))).toEqual([])
  expect(unaskedBy(agent(free, everything, rule('read', '*', 'allow')))).toEqual([])
  expect(unaskedBy(agent(free, everything, rule('bash', '*', 'allow')))).toEqual(['bash'])
  expect(unaskedBy(agent(free))).toEqual(['*'])
  expect(unaskedBy(undefined)).toEqual(['*'])
})

it('considers no unknown permission harmless', () => {
  expect(['read', 'grep', 'task'].every(isHarmless)).toBe(true)
  expect(['bash', 'edit', 'webfetch', 'websearch', 'external_directory', 'echo_say'].some(isHarmless)).toBe(
    false,
  )
})
