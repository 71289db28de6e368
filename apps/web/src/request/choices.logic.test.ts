import type { PermissionOption } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { choicesOf, grantCoverage, otherFields, plainFields, requestTitle } from './choices.logic.ts'

const option = (
  decision: 'allow' | 'deny',
  scope: PermissionOption['scope'],
  rule?: PermissionOption['rule'],
) => ({
  decision,
  scope,
  label: `${decision} ${scope}`,
  ...(rule && { rule }),
})

describe('the choices of a card', () => {
  const options = [
    option('allow', 'once'),
    option('allow', 'session'),
    option('allow', 'always'),
    option('deny', 'once'),
  ]

  it('keep their keys, whatever options are offered', () => {
    const { once, session, deny, wider } = choicesOf({ options })
    expect([once?.scope, session?.scope, deny?.decision]).toEqual(['once', 'session', 'deny'])
    expect(wider.map(({ scope }) => scope)).toEqual(['always'])
    expect(choicesOf({ options: options.slice(0, 1) })).toMatchObject({
      session: undefined,
      deny: undefined,
      wider: [],
    })
  })

  it('say what a grant covers', () => {
    expect(grantCoverage(option('allow', 'session', { tool: 'Bash', match: { command: 'npm test' } }))).toBe(
      'npm test',
    )
    expect(grantCoverage(option('allow', 'session', { tool: 'Edit' }))).toBe('all uses of Edit')
    expect(grantCoverage(option('allow', 'once'))).toBe('')
    const grant = (command: string) => option('allow', 'session', { tool: 'Bash', match: { command } })
    expect(grantCoverage(grant('npm test'), 'npm test')).toBe('only this command')
    expect(grantCoverage(grant('npm *'), 'npm *')).toBe('npm *')
    expect(grantCoverage(grant("ls '\\*.ts'"), "ls '*.ts'")).toBe('only this command')
    expect(grantCoverage(grant("ls '\\*.ts' *"), "ls '*.ts' *")).toBe("ls '\\*.ts' *")
    expect(grantCoverage(grant('npm *'), 'npm test')).toBe('npm *')
    expect(grantCoverage(option('allow', 'session', { tool: 'Edit' }), undefined)).toBe('all uses of Edit')
    const command = { tool: 'Bash', match: { command: 'make' }, exact: { cwd: '/x', env: { A: '1' } } }
    expect(grantCoverage(option('allow', 'session', command), 'make')).toBe(
      'only this command with cwd: /x, env: {"A":"1"}',
    )
    const file = { tool: 'Edit', any: ['file_path'], exact: {} }
    expect(grantCoverage(option('allow', 'session', file))).toBe(
      'all uses of Edit on files in the folder, except settings of git, agents, editors and shells',
    )
    const elsewhere = { tool: 'Read', exact: { file_path: '/etc/hosts' }, outside: true }
    expect(grantCoverage(option('allow', 'session', elsewhere))).toBe('only this call, outside the folder')
    expect(grantCoverage(option('allow', 'session', { tool: 'Read', outside: true }))).toBe(
      'all uses of Read, also outside the folder',
    )
    const fetch = { tool: 'WebFetch', exact: { url: 'x' }, any: ['prompt'] }
    expect(grantCoverage(option('allow', 'session', fetch))).toBe('only this call')
  })

  it('say what the agent wants to do', () => {
    expect(requestTitle({ kind: 'execute', tool: 'Bash' }, 'Demo')).toBe('Demo wants to run a command')
    expect(requestTitle({ kind: 'other', tool: 'mcp__x' }, 'Demo')).toContain('mcp__x')
    const inside = { kind: 'execute', tool: 'Bash', parentToolCallId: 'call_1' } as const
    expect(requestTitle(inside, 'Demo')).toBe('A subagent of Demo wants to run a command')
  })
})

it('lists the input fields that the command or diff does not show', () => {
  const input = {
    command: 'ls',
    timeout: 5,
    sandbox: false,
    replace_all: false,
    dangerouslyDisableSandbox: true,
    text: 'x'.repeat(500),
  }
  expect(otherFields(input).map(([name, value]) => [name, value.length])).toEqual([
    ['timeout', 1],
    ['sandbox', 5],
    ['dangerouslyDisableSandbox', 4],
    ['text', 301],
  ])
  expect(otherFields({ path: 'a', replaceAll: true }, 'diff')).toEqual([['replaceAll', 'true']])
  for (const odd of [null, 'text', 3, ['a']]) expect(otherFields(odd)).toEqual([])
})

it('lists the fields of a flat input, without the one in the title', () => {
  const input = { url: 'https://example.com', prompt: 'What is it?', limit: 3, raw: false, none: null }
  expect(plainFields(input, 'Fetch https://example.com')).toEqual([
    ['prompt', 'What is it?'],
    ['limit', '3'],
    ['raw', 'false'],
  ])
  expect(plainFields({ file_path: '/etc/hosts' }, 'Read /etc/hosts')).toEqual([])
  expect(plainFields({ text: '' }, 'Use it')).toEqual([['text', '']])
  expect(plainFields({ force: true, path: 'true' }, 'Read true')).toEqual([['force', 'true']])
  for (const nested of [{ a: { b: 1 } }, { a: [] }, ['a'], 'text', null])
    expect(plainFields(nested, 'Use it')).toBeUndefined()
})
