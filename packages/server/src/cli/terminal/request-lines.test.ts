import type { PermissionOption, Question } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { choiceLines, type OpenPermission, permissionLines, readAnswer, readChoice } from './request-lines.ts'
import { createStyle } from './style.ts'

const style = createStyle(false)
const options: PermissionOption[] = [
  { decision: 'allow', scope: 'once', label: 'Allow once' },
  { decision: 'allow', scope: 'session', label: 'Allow this command for this session' },
  { decision: 'deny', scope: 'once', label: 'Deny' },
  { decision: 'allow', scope: 'project', label: 'Allow this command in this project' },
  { decision: 'allow', scope: 'always', label: 'Always allow this command' },
]
const request: OpenPermission = {
  type: 'permission',
  requestId: 'r',
  at: 0,
  stale: false,
  tool: 'Bash',
  kind: 'execute',
  title: 'rm -rf build',
  input: { command: 'rm -rf build\n# \u001b[31mred', timeout: 5 },
  inputHash: 'h',
  reason: 'It deletes files.',
  readOnly: false,
  options,
}

describe('a permission', () => {
  it('shows the action, the place and the reason, with the whole command', () => {
    expect(permissionLines(request, '/somewhere', style)).toEqual([
      '? The agent asks for permission: execute (Bash, in /somewhere)',
      '  rm -rf build',
      '  why: It deletes files.',
      '    rm -rf build',
      '    # ␛[31mred',
      '    timeout: 5',
    ])
  })

  it('contains a warning if the call is outside the folder or changes a protected file', () => {
    const [head] = permissionLines({ ...request, outside: true, protected: true }, '/somewhere', style)
    expect(head).toContain('(Bash, in /somewhere, outside the folder, a protected file)')
  })

  it('shows the diff', () => {
    const diff = { path: 'a.txt', before: 'one\n', after: 'two\n' }
    const lines = permissionLines({ ...request, kind: 'edit', title: 'a.txt', diff }, '/somewhere', style)
    expect(lines.slice(-3)).toEqual(['    a.txt', '    -one', '    +two'])
  })

  it('shows each file of a patch separately, with the kind of its change', () => {
    const diffs = [
      { path: 'a.txt', patch: '@@ -1 +1 @@\n-one\n+two' },
      { path: 'c.txt', movedFrom: 'b.txt', patch: '@@ -1 +1 @@\n-b\n+c' },
      { path: 'new.txt', before: null, after: 'new\n' },
    ]
    const lines = permissionLines({ ...request, kind: 'edit', title: 'files', diffs }, '/somewhere', style)
    expect(lines.slice(3).map((line) => line.trim())).toEqual([
      ...['a.txt', '-one', '+two'],
      ...['b.txt → c.txt', '-b', '+c'],
      ...['new.txt (new file)', '+new'],
    ])
  })

  it('for a plan without text shows no empty input', () => {
    const plan = { ...request, kind: 'plan' as const, title: 'Propose the plan', input: {} }
    expect(permissionLines(plan, '/somewhere', style).join('\n')).not.toContain('{}')
  })

  it('has its options numbered in order', () => {
    const choices = request.options
    expect(choiceLines(choices, request, style).map((line) => line.trim().slice(0, 18))).toEqual([
      '1 Allow once  (or ',
      '2 Allow this comma',
      '3 Deny  (or n, and',
      '4 Allow this comma',
      '5 Always allow thi',
    ])
    expect(readChoice('2', choices)?.option.scope).toBe('session')
    expect(readChoice(' 3  it is in use ', choices)).toEqual({ option: options[2], message: 'it is in use' })
    expect(readChoice('y', choices)?.option).toEqual(options[0])
    expect(readChoice('No', choices)?.option).toEqual(options[2])
    expect(readChoice('d', choices)?.option).toEqual(options[2])
    expect(readChoice('n it is in use', choices)?.message).toBe('it is in use')
  })

  it('for a plan can be approved or sent back', () => {
    const [allow, , deny] = options
    const lines = choiceLines([allow, deny] as PermissionOption[], { kind: 'plan' }, style)
    expect(lines).toEqual([
      '  1 Approve the plan  (or y)',
      '  2 Keep planning  (or n, and a reason if you like)',
    ])
  })

  it.each(['', '0', '6', 'maybe', '1 and more', '-1', 'y es'])('is not answered by "%s"', (line) => {
    expect(readChoice(line, request.options)).toBeUndefined()
  })
})

describe('a question', () => {
  const question = (more: Partial<Question>): Question => ({
    id: 'q',
    header: 'Extras',
    text: 'Which?',
    options: [{ label: 'Tests' }, { label: 'Linting' }, { label: 'CI' }],
    multiple: false,
    freeText: false,
    ...more,
  })

  it('accepts a number, a label, or several of them', () => {
    expect(readAnswer('2', question({}))).toBe('Linting')
    expect(readAnswer('ci', question({}))).toBe('CI')
    expect(readAnswer('1,3', question({ multiple: true }))).toEqual(['Tests', 'CI'])
    expect(readAnswer('3 1 1', question({ multiple: true }))).toEqual(['CI', 'Tests'])
  })

  it('takes free text only if the question accepts free text', () => {
    expect(readAnswer('neither', question({}))).toBeUndefined()
    expect(readAnswer('neither', question({ freeText: true }))).toBe('neither')
    expect(readAnswer('none of them', question({ freeText: true, multiple: true }))).toEqual(['none of them'])
  })

  it('does not take a number out of range as free text', () => {
    expect(readAnswer('4', question({ freeText: true }))).toBeUndefined()
    expect(readAnswer('1,4', question({ multiple: true, freeText: true }))).toBeUndefined()
    expect(readAnswer('  ', question({ freeText: true }))).toBeUndefined()
    expect(readAnswer('4', question({ freeText: true, options: [] }))).toBe('4')
  })
})
