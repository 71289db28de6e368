import type { PermissionMode, PermissionRule } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { created, stateAfter } from '../testing/state-after.ts'
import { ruleOf } from '../testing/store-samples.ts'
import { evaluate, type Subject } from './permission-rules.ts'
import { covers } from './rule-pattern.ts'

const inMode = (mode: PermissionMode) =>
  stateAfter({ ...created, mode }, { type: 'session.configured', effective: { mode } })
const call = (input: unknown): Subject => ({ tool: 'Bash', kind: 'execute', input, readOnly: false })
const about = (decision: PermissionRule['decision'], pattern: string) =>
  ruleOf(decision, { decision, match: { command: pattern } })
const verdict = (input: unknown, rule: PermissionRule, mode: PermissionMode) =>
  evaluate(call(input), inMode(mode), [rule]).decision

const waysAround: [string, unknown][] = [
  ['unchanged', { command: 'rm -rf /' }],
  ['with a second command', { command: 'rm -rf / ; true' }],
  ['with a command in the background', { command: 'rm -rf / &' }],
  ['in a pipe', { command: 'rm -rf / | cat' }],
  ['with a variable', { command: 'rm -rf $HOME' }],
  ['with a substitution', { command: 'rm -rf `pwd` $(pwd)' }],
  ['with a redirection', { command: 'rm -rf / > /dev/null 2<&1' }],
  ['with a newline', { command: 'rm -rf /\n' }],
  ['over two lines', { command: 'rm \\\n-rf /' }],
  ['with a carriage return', { command: 'rm -rf /\r\n' }],
  ['with a line separator', { command: 'rm -rf /\u2028' }],
  ['with an extra boolean field', { command: 'rm -rf /', run_in_background: true }],
  [
    'with two extra boolean fields',
    { command: 'rm -rf / ; true', dangerouslyDisableSandbox: true, run_in_background: true },
  ],
  ['with other fields', { command: 'rm -rf /', timeout: 5, description: 'harmless' }],
]

describe('a refusal', () => {
  it.each(waysAround)('by "rm *" applies to the command %s', (_, input) => {
    for (const mode of ['ask', 'accept-edits', 'bypass'] as const) {
      expect(verdict(input, about('deny', 'rm *'), mode)).toBe('deny')
      expect(verdict(input, about('disable', 'rm *'), mode)).toBe('deny')
      expect(verdict(input, about('ask', 'rm *'), mode)).toBe('ask')
    }
  })

  it.each(waysAround)('by "rm *" overrides a grant of everything for the command %s', (_, input) => {
    const everything = ruleOf('all', { decision: 'allow', tool: '*' })
    expect(evaluate(call(input), inMode('ask'), [everything, about('deny', 'rm *')]).decision).toBe('deny')
  })

  it.each([
    ['an array of words', { command: ['rm', '-rf', '/'] }, '*rm*'],
    ['an object', { command: { program: 'rm' } }, '*rm*'],
    ['a number', { command: 5 }, '5'],
    ['a boolean', { command: true }, 'true'],
    ['null', { command: null }, '*'],
  ])('also applies to a command that is not a string: %s', (_, input, pattern) => {
    expect(verdict(input, about('deny', pattern), 'bypass')).toBe('deny')
  })

  it.each([
    ['another command', { command: 'ls' }],
    ['a command that only ends like it', { command: 'farm x' }],
    ['none', {}],
    ['no input', undefined],
    ['an input that is a string', 'rm -rf /'],
  ])('by "rm *" does not apply to %s', (_, input) => {
    expect(verdict(input, about('deny', 'rm *'), 'bypass')).toBe('allow')
  })

  it('that names two fields needs both to match', () => {
    const rule = ruleOf('deny', { decision: 'deny', match: { command: 'rm *', cwd: '/etc*' } })
    expect(verdict({ command: 'rm x', cwd: '/etc/a' }, rule, 'bypass')).toBe('deny')
    expect(verdict({ command: 'rm x', cwd: '/tmp' }, rule, 'bypass')).toBe('allow')
    expect(verdict({ command: 'rm x' }, rule, 'bypass')).toBe('allow')
  })

  it('without fields applies to every call of its tool', () => {
    const rule = ruleOf('deny', { decision: 'deny' })
    for (const [, input] of waysAround) expect(verdict(input, rule, 'bypass')).toBe('deny')
  })
})

describe('a grant', () => {
  it.each(waysAround.slice(1))('of "rm *" covers only the plain command: %s', (how, input) => {
    const holds = how === 'with other fields' || how === 'with a line separator'
    expect(verdict(input, about('allow', 'rm *'), 'ask')).toBe(holds ? 'allow' : 'ask')
  })

  it.each([
    [['rm', '-rf', '/'], '*'],
    [{ program: 'rm' }, '*'],
    [5, '5'],
    [null, '*'],
  ])('does not cover a command that is not a string: %j', (command, pattern) => {
    expect(verdict({ command }, about('allow', pattern), 'ask')).toBe('ask')
  })
})

describe('a pattern', () => {
  const piece = fc.constantFrom(
    'rm',
    ' ',
    '*',
    '\\*',
    '\\\\',
    '\\',
    '-rf',
    '/',
    '.',
    '[a]',
    '$',
    ';',
    '\n',
    'é',
    '🚀',
  )
  const pattern = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
  const command = fc.oneof(
    { weight: 1, arbitrary: fc.string({ maxLength: 10, unit: 'grapheme' }) },
    { weight: 2, arbitrary: fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')) },
    { weight: 1, arbitrary: fc.anything({ maxDepth: 1 }) },
  )
  const switches = fc.dictionary(fc.constantFrom('a', 'b', 'sandbox'), fc.oneof(fc.boolean(), fc.string()), {
    maxKeys: 2,
  })

  it('in a refusing rule matches every call that the same pattern in a grant covers', () => {
    let allowed = 0
    fc.assert(
      fc.property(pattern, command, fc.oneof(fc.constant({}), switches), (text, given, more) => {
        const input = { ...more, command: given }
        if (!covers({ tool: 'Bash', match: { command: text } }, call(input))) return
        allowed++
        expect(verdict(input, about('allow', text), 'ask')).toBe('allow')
        expect(verdict(input, about('deny', text), 'bypass')).toBe('deny')
        expect(verdict(input, about('disable', text), 'bypass')).toBe('deny')
        expect(verdict(input, about('ask', text), 'bypass')).toBe('ask')
      }),
      { numRuns: 4_000 },
    )
    expect(allowed).toBeGreaterThan(20)
  })

  it('in a refusing rule matches any text with its "*"', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), switches, (rest, more) => {
        expect(verdict({ ...more, command: `rm ${rest}` }, about('deny', 'rm *'), 'bypass')).toBe('deny')
      }),
    )
  })
})
