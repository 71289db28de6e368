import type { PermissionRule } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { ruleOf } from '../testing/store-samples.ts'
import { evaluate, type Subject } from './permission-rules.ts'

const ls: Subject = { tool: 'Bash', kind: 'execute', input: { command: 'ls' }, readOnly: false }
const allow = ruleOf('allow', { decision: 'allow' })
const deny = ruleOf('deny', { decision: 'deny' })

describe('rules for a project', () => {
  const session = (cwd: string, project?: string) =>
    stateAfter({ ...created, cwd, ...(project !== undefined && { project }) })
  const ruled = (rule: PermissionRule, project: string) => ({ ...rule, scope: 'project', project }) as const

  it.each<[string, string]>([
    ['its top folder', '/app'],
    ['a subfolder', '/app/inner'],
    ['a linked worktree', '/data/worktrees/one'],
  ])('apply in %s', (_, cwd) => {
    expect(evaluate(ls, session(cwd, '/app/.git'), [ruled(allow, '/app/.git')]).decision).toBe('allow')
  })

  it.each<[string, string, string | undefined]>([
    ['a repository inside it', '/app/inner', '/app/inner/.git'],
    ['another repository', '/other', '/other/.git'],
    ['a session that was recorded without a project', '/app', undefined],
  ])('do not apply in %s', (_, cwd, project) => {
    expect(evaluate(ls, session(cwd, project), [ruled(allow, '/app/.git')]).decision).toBe('ask')
  })

  it('that were stored with a folder allow calls in exactly this folder', () => {
    const rule = ruled(allow, '/app')
    expect(evaluate(ls, session('/app', '/app/.git'), [rule]).decision).toBe('allow')
    expect(evaluate(ls, session('/app'), [rule]).decision).toBe('allow')
    expect(evaluate(ls, session('/app/inner', '/app/.git'), [rule]).decision).toBe('ask')
    expect(evaluate(ls, session('/data/one', '/app/.git'), [rule]).decision).toBe('ask')
  })

  it.each(['deny', 'disable', 'ask'] as const)(
    'that %s apply in all worktrees, even if they were stored with the top folder',
    (decision) => {
      const rule = ruled({ ...deny, decision }, '/app')
      for (const cwd of ['/app', '/app/inner', '/data/one'])
        expect(evaluate(ls, session(cwd, '/app/.git'), [allow, rule]).decision).not.toBe('allow')
      expect(evaluate(ls, session('/app', '/app'), [ruled(rule, '/app/.git')]).decision).not.toBe('allow')
      expect(evaluate(ls, session('/app/inner', '/app/inner/.git'), [allow, rule]).decision).toBe('allow')
    },
  )
})
