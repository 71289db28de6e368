import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { writesPlan } from './will-ask.ts'

const home = folderForFile()
const plans = join(home, '.claude', 'plans')
mkdirSync(plans, { recursive: true })
symlinkSync(join(home, '.claude', 'settings.json'), join(plans, 'nowhere.md'))
mkdirSync(join(home, '.claude', 'commands'))
symlinkSync(join(home, '.claude', 'commands'), join(plans, 'commands'))
mkdirSync(join(home, 'moved'))
symlinkSync(join(home, '.claude'), join(home, 'moved', 'config'))

const writes = (file_path: string, tool = 'Write', env: Record<string, string> = { HOME: home }) =>
  writesPlan({ tool, input: { file_path } }, env)

it('a plan is written in the plans folder of Claude Code', () => {
  expect(writes(join(plans, 'a-plan.md'))).toBe(true)
  expect(writes(join(plans, 'a-plan.md'), 'Edit')).toBe(true)
  const config = join(home, 'moved', 'config')
  expect(writes(join(config, 'plans', 'a-plan.md'), 'Write', { CLAUDE_CONFIG_DIR: config })).toBe(true)
})

it.each([
  '.claude/settings.json',
  '.claude/commands/run.md',
  '.claude/plans/run.sh',
  '.claude/plans/deeper/a-plan.md',
  '.claude/plans/nowhere.md',
  '.claude/plans/commands/run.md',
  '.claude/plans/../commands/run.md',
  'project/.claude/plans/a-plan.md',
])('%s is not a plan of Claude Code', (file) => {
  expect(writes(`${home}/${file}`)).toBe(false)
})

it('other tools write no plan, and without a known folder no file is a plan', () => {
  expect(writes(join(plans, 'a-plan.md'), 'Bash')).toBe(false)
  expect(writes('.claude/plans/a-plan.md', 'Write', {})).toBe(false)
  expect(writesPlan({ tool: 'Write', input: {} }, { HOME: home })).toBe(false)
})
