import type { PermissionMode, PermissionRule, ToolKind } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { ruleOf } from '../testing/store-samples.ts'
import { evaluate, modeInForce, optionsFor, type Subject } from './permission-rules.ts'
import { covers } from './rule-pattern.ts'

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

describe('a call that reaches outside or changes a protected file', () => {
  const edit = ofKind('edit')
  const read = ofKind('read', true)
  const far = [{ outside: true }, { protected: true }, { outside: true, protected: true }] as const

  it.each(far)('(%o) is allowed by no mode but bypass', (reach) => {
    for (const mode of ['ask', 'plan', 'accept-edits'] as const)
      expect(evaluate({ ...edit, ...reach }, inMode(mode), []).decision).toBe('ask')
    expect(evaluate({ ...read, ...reach }, inMode('read-only'), []).decision).toBe('ask')
    expect(evaluate({ ...edit, ...reach }, inMode('bypass'), []).decision).toBe('allow')
  })

  it.each(far)('(%o) is covered only by a grant that has the same field', (reach) => {
    for (const grant of [
      { tool: 'Tool' },
      { tool: '*' },
      { tool: 'Tool', any: ['path'] },
      { tool: 'Tool', exact: {} },
    ]) {
      const rule = { ...allow, ...grant }
      expect(evaluate(edit, asking, [rule]).decision).toBe('allow')
      expect(evaluate({ ...edit, ...reach }, asking, [rule]).decision).toBe('ask')
      expect(evaluate({ ...edit, ...reach }, asking, [{ ...rule, ...reach }]).decision).toBe('allow')
    }
  })

  it.each(far)('(%o) is refused like any other call', (reach) => {
    expect(evaluate({ ...edit, ...reach }, asking, [{ ...deny, tool: 'Tool' }]).decision).toBe('deny')
    expect(evaluate({ ...edit, ...reach }, inMode('read-only'), []).decision).toBe('deny')
  })

  it('is allowed by no mode but bypass if the agent insists on asking', () => {
    const insisted = { ...edit, insisted: true }
    expect(evaluate(insisted, inMode('accept-edits'), []).decision).toBe('ask')
    expect(evaluate(insisted, inMode('bypass'), []).decision).toBe('allow')
  })
})

describe('the tool list', () => {
  const only = (tools: string[]) => stateAfter({ ...created, mode: 'bypass', options: { tools } })

  it('refuses every tool that is not in it, in any mode and with any rules', () => {
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
    [
      'a disabled tool is denied',
      [ruleOf('off', { decision: 'disable' })],
      { decision: 'deny', ruleId: 'off' },
    ],
    ['a refusal overrides a grant', [allow, deny], { decision: 'deny' }],
    ['a refusal overrides a grant in any order', [deny, allow], { decision: 'deny' }],
    [
      'a refusal overrides a grant of a narrower scope',
      [{ ...allow, ...inSession }, deny],
      { decision: 'deny' },
    ],
    [
      'a rule for the session overrides one for the project',
      [
        { ...allow, ...inProject },
        { ...ask, ...inSession },
      ],
      { decision: 'ask' },
    ],
    [
      'a rule for the project overrides one for always',
      [allow, { ...ask, ...inProject }],
      { decision: 'ask' },
    ],
    [
      'a rule for the session overrides one for always in any order',
      [{ ...allow, ...inSession }, ask],
      { decision: 'allow', ruleId: 'allow' },
    ],
    ['a rule for every tool applies', [{ ...allow, tool: '*' }], { decision: 'allow' }],
    ['the mode decides if no rule applies', [{ ...allow, tool: 'Read' }], { decision: 'ask' }],
  ])('%s', (_, rules, verdict) => {
    expect(evaluate(bash('ls'), asking, rules)).toMatchObject(verdict)
  })

  it.each<[string, Partial<PermissionRule>, 'allow' | 'ask']>([
    ['this session', inSession, 'allow'],
    ['another session', { scope: 'session', sessionId: 'ses_2' }, 'ask'],
    ['a session without an id', { scope: 'session' }, 'ask'],
    ['this folder', inProject, 'allow'],
    ['another folder', { scope: 'project', project: '/somewhere/inner' }, 'ask'],
    ['a folder without a path', { scope: 'project' }, 'ask'],
    ['this agent', { agent: 'demo' }, 'allow'],
    ['another agent', { agent: 'other' }, 'ask'],
    ['another agent in this session', { ...inSession, agent: 'other' }, 'ask'],
  ])('a rule for %s: %3$s', (_, scope, decision) => {
    expect(evaluate(bash('ls'), asking, [{ ...allow, ...scope }]).decision).toBe(decision)
  })

  it('that ask take effect even where the mode would allow the call', () => {
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
  ])('mode %s, kind %s, read-only %s: %s', (mode, kind, readOnly, decision) => {
    const verdict = evaluate(ofKind(kind, readOnly), inMode(mode), [])
    expect(verdict.decision).toBe(decision)
    expect('by' in verdict ? verdict.by : 'mode').toBe('mode')
  })

  it('read-only overrides a grant', () => {
    expect(evaluate(bash('rm x'), inMode('read-only'), [allow])).toMatchObject({
      decision: 'deny',
      by: 'mode',
    })
  })

  it('a refusal overrides bypass', () => {
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
  const coversCommand = (pattern: string, command: unknown) =>
    covers({ tool: 'Bash', match: { command: pattern } }, bash(command))

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
    expect(coversCommand(pattern, command)).toBe(true)
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
    expect(coversCommand(pattern, command)).toBe(false)
  })

  it.each([';', '&', '|', '`', '$', '<', '>', '\n', '\r', '(', ')'])(
    'has a wildcard that never matches %j',
    (control) => {
      expect(coversCommand('npm *', `npm test ${control} rm x`)).toBe(false)
      expect(coversCommand('*', control)).toBe(false)
      expect(coversCommand(`npm *${control}`, `npm test${control}`)).toBe(true)
    },
  )

  it('covers a call only if every field it names matches', () => {
    const pattern = { tool: 'Write', match: { path: 'src/*', mode: 'new' } }
    const write = (input: unknown): Subject => ({ tool: 'Write', kind: 'edit', input, readOnly: false })
    expect(covers(pattern, write({ path: 'src/a.ts', mode: 'new' }))).toBe(true)
    expect(covers(pattern, write({ path: 'src/a.ts', mode: 'old' }))).toBe(false)
    expect(covers(pattern, write({ path: 'src/a.ts' }))).toBe(false)
    expect(covers(pattern, write('src/a.ts'))).toBe(false)
    expect(covers(pattern, write(null))).toBe(false)
  })

  it('without fields covers every input of its tool, and of no other', () => {
    expect(covers({ tool: 'Bash' }, bash('anything'))).toBe(true)
    expect(covers({ tool: 'Bas' }, bash('anything'))).toBe(false)
    expect(covers({ tool: 'B*' }, bash('anything'))).toBe(false)
  })
})

describe('the options of a request', () => {
  it('contain each scope, in the order in which the console and the terminal number them', () => {
    const options = optionsFor(bash('npm test'))
    expect(options.map(({ decision, scope }) => `${decision} ${scope}`)).toEqual([
      'allow once',
      'allow session',
      'deny once',
      'allow project',
      'allow always',
    ])
    expect(options.filter((option) => option.rule).map((option) => option.rule)).toEqual(
      Array(3).fill({ tool: 'Bash', match: { command: 'npm test' } }),
    )
  })

  it('grant a tool that edits files for every file and text, but with its other fields unchanged', () => {
    const input = { file_path: 'a', old_string: 'x', new_string: 'y', unsandboxed: true, timeout: 5 }
    const [, session] = optionsFor({ ...ofKind('edit'), input })
    expect(session?.rule).toEqual({
      tool: 'Tool',
      any: ['file_path', 'old_string', 'new_string'],
      exact: { unsandboxed: true },
    })
    expect(session?.label).toBe("Allow Tool on files inside the session's folders for this session")
  })

  it('grant any other tool with exactly the requested input', () => {
    const input = { url: 'https://example.com', depth: [1] }
    for (const kind of ['fetch', 'other', 'delete', 'move'] as const) {
      const [, session] = optionsFor({ ...ofKind(kind), input })
      expect(session?.rule).toEqual({ tool: 'Tool', exact: input })
      expect(session?.label).toBe('Allow exactly this call of Tool for this session')
    }
  })

  it('grant a subagent of the same kind, with any prompt', () => {
    const input = { prompt: 'look', description: 'Look', subagent_type: 'Explore' }
    const [, session] = optionsFor({ ...ofKind('subagent'), input })
    expect(session?.rule).toEqual({ tool: 'Tool', any: ['prompt'], exact: { subagent_type: 'Explore' } })
  })

  it('grant a call outside the folders only with its exact input, and say so in the label', () => {
    const input = { file_path: '/etc/hosts', offset: 5 }
    const [, session] = optionsFor({ ...ofKind('read', true), input, outside: true })
    expect(session?.rule).toEqual({ tool: 'Tool', exact: { file_path: '/etc/hosts' }, outside: true })
    expect(session?.label).toBe('Allow exactly this call of Tool, outside the folder, for this session')
  })

  it.each<[string, Subject]>([
    [
      'a call that changes a protected file',
      { ...ofKind('edit'), input: { path: '.git/config' }, protected: true },
    ],
    ['an input that is not an object', { ...ofKind('other'), input: 'text' }],
    ['a command without its text', { ...ofKind('execute'), input: {} }],
    ['an input with a field __proto__', { ...ofKind('other'), input: JSON.parse('{"__proto__":1}') }],
    ['a very long input', { ...ofKind('other'), input: { text: 'x'.repeat(20_000) } }],
  ])('allow the call only once: %s', (_, subject) => {
    expect(optionsFor(subject).map(({ scope }) => scope)).toEqual(['once', 'once'])
  })

  it("leave out an agent's suggestion that does not cover the call itself", () => {
    const rule = { tool: 'Bash', match: { command: 'npm *' } }
    const suggestion = { decision: 'allow', scope: 'session', label: 'npm', rule } as const
    const unsandboxed = { ...bash('npm test'), input: { command: 'npm test', unsandboxed: true } }
    expect(optionsFor(bash('npm test'), [suggestion])).toContain(suggestion)
    expect(optionsFor(unsandboxed, [suggestion])).not.toContain(suggestion)
  })

  it('of a plan allow it only once, because another plan is another request', () => {
    const suggestion = {
      decision: 'allow',
      scope: 'always',
      label: 'All plans',
      rule: { tool: '*' },
    } as const
    expect(optionsFor(ofKind('plan'), [suggestion]).map((option) => option.scope)).toEqual(['once', 'once'])
  })

  it("include the agent's own suggestions", () => {
    const suggestion = { decision: 'allow', scope: 'session', label: 'npm', rule: { tool: 'Bash' } } as const
    expect(optionsFor(bash('npm test'), [suggestion])).toContain(suggestion)
  })

  it('never grant every tool because a tool is named *', () => {
    const star: Subject = { tool: '*', kind: 'other', input: {}, readOnly: false }
    const rules = optionsFor(star).flatMap((option) => option.rule ?? [])
    expect(rules.filter((rule) => covers(rule, bash('rm -rf /')))).toEqual([])
  })
})

describe('a granted command', () => {
  const grantOf = (command: string) => optionsFor(bash(command))[1]!.rule!
  const command = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: fc.constantFrom('a', '*', '\\', '.', '$', ' ', '\n', ';', '['), maxLength: 8 }),
  )

  it.each(['rm *', 'a\\b', '\\*', '*', '\\', 'echo $(x) && y', 'a+b?[c]{1}^|.'])(
    '%j is granted exactly',
    (text) => {
      expect(covers(grantOf(text), bash(text))).toBe(true)
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
    expect(covers(grantOf(granted), bash(other))).toBe(false)
  })

  it('that is an array of words grants no other array', () => {
    const rules = optionsFor(bash(['ls'])).flatMap((option) => option.rule ?? [])
    expect(rules.filter((rule) => covers(rule, bash(['rm', '-rf', '/'])))).toEqual([])
  })

  it('always covers itself', () => {
    fc.assert(
      fc.property(command, (text) => {
        expect(covers(grantOf(text), bash(text))).toBe(true)
      }),
    )
  })

  it('never covers a different one', () => {
    fc.assert(
      fc.property(command, command, (granted, other) => {
        fc.pre(granted !== other)
        expect(covers(grantOf(granted), bash(other))).toBe(false)
      }),
    )
  })
})
