import { existsSync, globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { longFiles } from './longest-first.ts'
import { agentFiles, mainFiles, nodeFiles } from './projects.ts'

const root = resolve(import.meta.dirname, '../..')

it('the files of the main paths exist', () => {
  expect(mainFiles.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

it('the files that start first exist', () => {
  const files = globSync('{tests,packages/server/src/{adapters,workspace}}/**/*.test.ts', { cwd: root })
  expect(longFiles.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([])
})

it('the tests of the main paths that start an agent start Claude Code only', () => {
  const agents = mainFiles.filter((file) => agentFiles.includes(file))
  expect(agents).toEqual(['packages/server/src/adapters/claude/claude.test.ts'])
})

it('the tests of adapters with real agents are found', () => {
  expect(agentFiles.length).toBeGreaterThan(20)
})

it('the tests of commands with servers on PostgreSQL are found', () => {
  expect(nodeFiles).toContain('packages/server/src/cli/other-node.test.ts')
})
