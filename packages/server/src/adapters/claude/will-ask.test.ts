import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { grantedBySettings, willAsk } from './will-ask.ts'

const none: ReadonlySet<string> = new Set()
const bash = (command: string) => ({ tool: 'Bash', input: { command } })

it.each([
  [bash('npm test'), 'ask', true],
  [bash('rm -rf build'), 'ask', true],
  [bash('echo hi > a.txt'), 'ask', true],
  [bash('ls 2>/dev/null'), 'ask', false],
  [bash('git status'), 'ask', false],
  [bash('git push'), 'ask', true],
  [bash('cd app && npm test'), 'ask', true],
  [bash('ls | wc -l'), 'ask', false],
  [bash('git status; rm x'), 'ask', true],
  [bash('mkdir a && touch a/b'), 'accept-edits', false],
  [bash('node --version'), 'ask', false],
  [bash('rm -rf build'), 'accept-edits', false],
  [bash('npm test'), 'accept-edits', true],
  [bash('npm test'), 'bypass', false],
  [{ tool: 'Write', input: {} }, 'ask', true],
  [{ tool: 'Write', input: {} }, 'accept-edits', false],
  [{ tool: 'Read', input: {} }, 'ask', false],
  [{ tool: 'mcp__github__push', input: {} }, 'ask', true],
  [{ tool: 'AskUserQuestion', input: {} }, 'bypass', true],
  [{ tool: 'ExitPlanMode', input: {} }, 'plan', true],
] as const)('for %j in mode %s, willAsk is %s', (call, mode, expected) => {
  expect(willAsk(call, mode, none)).toBe(expected)
})

it('returns false for tools that the settings allow', () => {
  const home = folderForTest()
  mkdirSync(join(home, '.claude'))
  const allow = ['Bash(npm test:*)', 'mcp__github', 'Edit(src/**)']
  writeFileSync(join(home, '.claude', 'settings.json'), JSON.stringify({ permissions: { allow } }))
  const granted = grantedBySettings({ HOME: home }, home, ['user'])
  expect(willAsk(bash('npm test'), 'ask', granted)).toBe(false)
  expect(willAsk({ tool: 'mcp__github__push', input: {} }, 'ask', granted)).toBe(false)
  expect(willAsk({ tool: 'Write', input: {} }, 'ask', granted)).toBe(false)
  expect(willAsk({ tool: 'mcp__other__push', input: {} }, 'ask', granted)).toBe(true)
  expect(grantedBySettings({ HOME: join(home, 'nobody') }, home, ['user'])).toEqual(none)
})
