import type { PermissionMode, PermissionRule, ToolKind } from '@parley/protocol'
import { emptyState } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { ruleOf } from '../testing/store-samples.ts'
import { evaluate, matches, modeInForce, optionsFor, type Subject } from './permission-rules.ts'

const bash = (command: unknown): Subject => ({
  tool: 'Bash',
  kind: 'execute',
  input: { command },
  readOnly: false,
})
const ofKind = (kind: ToolKind, readOnly = false): Subject => ({ tool: 'Tool', kind, input: {}, readOnly })
const inMode = (mode: PermissionMode) =>
  stateAfter({ ...created, mode }, { type: 'session.configured', effective: { mode } })
const asking = inMode('ask')

const allow = ruleOf('allow', { decision: 'allow' })
const deny = ruleOf('deny', { decision: 'deny' })
const ask = ruleOf('ask', { decision: 'ask' })
const inSession = { scope: 'session', sessionId: 'ses_1' } as const
const inProject = { scope: 'project', project: '/somewhere' } as const

it('a mode that accepts edits does not cover those outside the folders', () => {
  const state = {
    ...emptyState('s', 'e'),
    requested: { mode: 'accept-edits' as const },
    effective: { mode: 'accept-edits' as const },
  }
  const edit = { tool: 'Edit', kind: 'edit' as const, input: {}, readOnly: false }
  expect(evaluate(edit, state, []).decision).toBe('allow')
  expect(evaluate({ ...edit, outside: true }, state, []).decision).toBe('ask')
})

describe('the tool list', () => {
  const only = (tools: string[]) => stateAfter({ ...created, mode: 'bypass', options: { tools } })

  it('refuses every tool that is not in it, whatever rules and mode say', () => {
    expect(evaluate(bash('ls'), only(['Read']), [allow])).toMatchObject({ decision: 'deny', by: 'rule' })
    expect(evaluate(bash('ls'), only([]), [allow])).toMatchObject({ decision: 'deny' })
  })

  it('allows nothing by itself', () => {
    expect(evaluate(bash('ls'), only(['Bash']), [])).toEqual({ decision: 'ask' })
  })
})

describe('rules', () => {
  it.each<[string, PermissionRule[], object]>([
    ['a grant allows', [allow], { decision: 'allow', by: 'rule', ruleId: 'allow' }],
    ['a refusal denies', [deny], { decision: 'deny', by: 'rule', ruleId: 'deny' }],
    ['disabled is denied', [ruleOf('off', { decision: 'disable' })], { decision: 'deny', ruleId: 'off' }],
    ['a refusal beats a grant', [allow, deny], { decision: 'deny' }],
    ['in any order', [deny, allow], { decision: 'deny' }],
    ['also one of a narrower scope', [{ ...allow, ...inSession }, deny], { decision: 'deny' }],
    [
      'the session beats the project',
      [
        { ...allow, ...inProject },
        { ...ask, ...inSession },
      ],
      { decision: 'ask' },
    ],
    ['the project beats always', [allow, { ...ask, ...inProject }], { decision: 'ask' }],
    ['in any order as well', [{ ...allow, ...inSession }, ask], { decision: 'allow', ruleId: 'allow' }],
    ['a rule for every tool applies', [{ ...allow, tool: '*' }], { decision: 'allow' }],
    ['none that applies leaves it to the mode', [{ ...allow, tool: 'Read' }], { decision: 'ask' }],
  ])('%s', (_, rules, verdict) => {
    expect(evaluate(bash('ls'), asking, rules)).toMatchObject(verdict)
  })

  it.each<[string, Partial<PermissionRule>, 'allow' | 'ask']>([
    ['this session', inSession, 'allow'],
    ['another session', { scope: 'session', sessionId: 'ses_2' }, 'ask'],
    ['a session without a name', { scope: 'session' }, 'ask'],
    ['this folder', inProject, 'allow'],
    ['another folder', { scope: 'project', project: '/somewhere/inner' }, 'ask'],
    ['a folder without a name', { scope: 'project' }, 'ask'],
    ['this agent', { agent: 'demo' }, 'allow'],
    ['another agent', { agent: 'other' }, 'ask'],
    ['another agent in this session', { ...inSession, agent: 'other' }, 'ask'],
  ])('for %s: %3$s', (_, scope, decision) => {
    expect(evaluate(bash('ls'), asking, [{ ...allow, ...scope }]).decision).toBe(decision)
  })

  it('that ask, ask also where the mode would allow', () => {
    expect(evaluate(bash('ls'), inMode('bypass'), [ask])).toEqual({ decision: 'ask' })
  })
})

describe('modes', () => {
  it.each<[PermissionMode, ToolKind, boolean, 'allow' | 'ask' | 'deny']>([
    ['ask', 'read', true, 'ask'],
    ['ask', 'edit', false, 'ask'],
    ['plan', 'edit', false, 'ask'],
    ['plan', 'read', true, 'ask'],
    ['accept-edits', 'edit', false, 'allow'],
    ['accept-edits', 'delete', false, 'ask'],
    ['accept-edits', 'move', false, 'ask'],
    ['accept-edits', 'execute', false, 'ask'],
    ['bypass', 'execute', false, 'allow'],
    ['read-only', 'read', true, 'allow'],
    ['read-only', 'search', true, 'allow'],
    ['read-only', 'think', true, 'allow'],
    ['read-only', 'fetch', true, 'allow'],
    ['read-only', 'read', false, 'deny'],
    ['read-only', 'fetch', false, 'deny'],
    ['read-only', 'edit', true, 'deny'],
    ['read-only', 'execute', true, 'deny'],
    ['read-only', 'other', true, 'deny'],
  ])('%s, asked for %s (read-only: %s): %s', (mode, kind, readOnly, decision) => {
    const verdict = evaluate(ofKind(kind, readOnly), inMode(mode), [])
    expect(verdict.decision).toBe(decision)
    expect('by' in verdict ? verdict.by : 'mode').toBe('mode')
  })

  it('read-only beats a grant', () => {
    expect(evaluate(bash('rm x'), inMode('read-only'), [allow])).toMatchObject({
      decision: 'deny',
      by: 'mode',
    })
  })

  it('a refusal beats bypass', () => {
    expect(evaluate(bash('rm x'), inMode('bypass'), [deny])).toMatchObject({ decision: 'deny', by: 'rule' })
  })
})

describe('the mode in force', () => {
  it.each<[PermissionMode, PermissionMode | undefined, PermissionMode]>([
    ['bypass', undefined, 'ask'],
    ['bypass', 'ask', 'ask'],
    ['bypass', 'bypass', 'bypass'],
    ['ask', 'bypass', 'ask'],
    ['read-only', undefined, 'read-only'],
    ['read-only', 'bypass', 'read-only'],
    ['plan', 'accept-edits', 'plan'],
    ['accept-edits', 'plan', 'plan'],
    ['accept-edits', 'accept-edits', 'accept-edits'],
  ])('requested %s, confirmed %s: %s', (requested, effective, inForce) => {
    const state = stateAfter({ ...created, mode: requested })
    expect(modeInForce({ ...state, effective: effective ? { mode: effective } : {} })).toBe(inForce)
  })
})

describe('a pattern', () => {
  const matchesCommand = (pattern: string, command: unknown) =>
    matches({ tool: 'Bash', match: { command: pattern } }, bash(command))

  it.each([
    ['npm test', 'npm test'],
    ['npm *', 'npm test -- --watch'],
    ['npm *', 'npm '],
    ['* --version', 'node --version'],
    ['git * main', 'git push origin main'],
    ['*', 'ls -l "a b" [x] {y} ~/z #!?'],
    ['\\*', '*'],
    ['a\\\\b', 'a\\b'],
    ['a\\', 'a\\'],
    ['a.b', 'a.b'],
    ['(a|b)', '(a|b)'],
    ['a\nb', 'a\nb'],
  ])('%j covers %j', (pattern, command) => {
    expect(matchesCommand(pattern, command)).toBe(true)
  })

  it.each([
    ['npm test', 'npm test '],
    ['npm test', ' npm test'],
    ['npm test', 'npm tes'],
    ['npm test', 'NPM test'],
    ['npm *', 'npx x'],
    ['a.b', 'axb'],
    ['\\*', 'ls'],
    ['ls', 'ls\n'],
    ['ls', 'ls\nrm x'],
    ['*', 5],
    ['*', ['ls']],
    ['*', null],
    ['*', undefined],
  ])('%j does not cover %j', (pattern, command) => {
    expect(matchesCommand(pattern, command)).toBe(false)
  })

  it.each([';', '&', '|', '`', '$', '<', '>', '\n', '\r', '(', ')'])(
    'has a wildcard that never stands for %j',
    (control) => {
      expect(matchesCommand('npm *', `npm test ${control} rm x`)).toBe(false)
      expect(matchesCommand('*', control)).toBe(false)
      expect(matchesCommand(`npm *${control}`, `npm test${control}`)).toBe(true)
    },
  )

  it('covers a call only if every field it names fits', () => {
    const pattern = { tool: 'Write', match: { path: 'src/*', mode: 'new' } }
    const write = (input: unknown): Subject => ({ tool: 'Write', kind: 'edit', input, readOnly: false })
    expect(matches(pattern, write({ path: 'src/a.ts', mode: 'new' }))).toBe(true)
    expect(matches(pattern, write({ path: 'src/a.ts', mode: 'old' }))).toBe(false)
    expect(matches(pattern, write({ path: 'src/a.ts' }))).toBe(false)
    expect(matches(pattern, write('src/a.ts'))).toBe(false)
    expect(matches(pattern, write(null))).toBe(false)
  })

  it('without fields covers every input of its tool, and of no other', () => {
    expect(matches({ tool: 'Bash' }, bash('anything'))).toBe(true)
    expect(matches({ tool: 'Bas' }, bash('anything'))).toBe(false)
    expect(matches({ tool: 'B*' }, bash('anything'))).toBe(false)
  })
})

describe('the options of a request', () => {
  it('end with a refusal and hold each scope', () => {
    const options = optionsFor(bash('npm test'))
    expect(options.map(({ decision, scope }) => `${decision} ${scope}`)).toEqual([
      'allow once',
      'allow session',
      'allow project',
      'allow always',
      'deny once',
    ])
    expect(options.filter((option) => option.rule).map((option) => option.rule)).toEqual(
      Array(3).fill({ tool: 'Bash', match: { command: 'npm test' } }),
    )
  })

  it('grant a tool that runs no command by its name', () => {
    expect(optionsFor(ofKind('edit'))[1]?.rule).toEqual({ tool: 'Tool' })
  })

  it('of a plan are for once only: another plan is another question', () => {
    const suggestion = {
      decision: 'allow',
      scope: 'always',
      label: 'All plans',
      rule: { tool: '*' },
    } as const
    expect(optionsFor(ofKind('plan'), [suggestion]).map((option) => option.scope)).toEqual(['once', 'once'])
  })

  it("keep the agent's own suggestions", () => {
    const suggestion = { decision: 'allow', scope: 'session', label: 'npm', rule: { tool: 'Bash' } } as const
    expect(optionsFor(bash('npm test'), [suggestion])).toContain(suggestion)
  })

  it('never grant every tool because one is called *', () => {
    const star: Subject = { tool: '*', kind: 'other', input: {}, readOnly: false }
    const rules = optionsFor(star).flatMap((option) => option.rule ?? [])
    expect(rules.filter((rule) => matches(rule, bash('rm -rf /')))).toEqual([])
  })
})

describe('a granted command', () => {
  const grantOf = (command: string) => optionsFor(bash(command))[1]!.rule!
  const command = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: fc.constantFrom('a', '*', '\\', '.', '$', ' ', '\n', ';', '['), maxLength: 8 }),
  )

  it.each(['rm *', 'a\\b', '\\*', '*', '\\', 'echo $(x) && y', 'a+b?[c]{1}^|.'])(
    '%j is granted as it stands',
    (text) => {
      expect(matches(grantOf(text), bash(text))).toBe(true)
    },
  )

  it.each([
    ['rm *', 'rm x'],
    ['*', 'ls'],
    ['\\*', '*'],
    ['\\*', '\\x'],
    ['a\\b', 'ab'],
    ['a\\\\b', 'a\\b'],
    ['.', 'x'],
  ])('%j does not grant %j', (granted, other) => {
    expect(matches(grantOf(granted), bash(other))).toBe(false)
  })

  it('that is a list of words grants no other list', () => {
    const rules = optionsFor(bash(['ls'])).flatMap((option) => option.rule ?? [])
    expect(rules.filter((rule) => matches(rule, bash(['rm', '-rf', '/'])))).toEqual([])
  })

  it('always covers itself', () => {
    fc.assert(
      fc.property(command, (text) => {
        expect(matches(grantOf(text), bash(text))).toBe(true)
      }),
    )
  })

  it('never covers a different one', () => {
    fc.assert(
      fc.property(command, command, (granted, other) => {
        fc.pre(granted !== other)
        expect(matches(grantOf(granted), bash(other))).toBe(false)
      }),
    )
  })
})
