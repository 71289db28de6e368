import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { consoleRules } from './console-rules.ts'
import { rules as packageRules } from './import-rules.ts'
import { importsOf, root, server, sourceFiles, targetOf, web } from './workspace.ts'

const rules = [...packageRules, ...consoleRules()]

it('no import breaks the rules of the table', () => {
  const files = sourceFiles()
  expect(files.length).toBeGreaterThan(50)
  const problems = files.flatMap((file) => importsOf(file).map((specifier) => problemWith(file, specifier)))
  expect(problems.filter((problem) => problem !== undefined)).toEqual([])
})

it('a forbidden import is reported', () => {
  expect(problemWith(`${server}/core/host.ts`, '../stores/sqlite.ts')).toContain('Add a port')
  expect(problemWith(`${server}/core/host.ts`, 'ws')).toContain('package ws')
  expect(problemWith(`${server}/adapters/scripted/index.ts`, '../claude/index.ts')).toContain(
    'never another agent',
  )
  expect(problemWith('packages/client/src/http.ts', 'node:fs')).toContain('browsers')
  expect(problemWith(`${server}/adapters/scripted/index.ts`, '../environment.ts')).toBeUndefined()
  expect(problemWith(`${web}/base/focus.ts`, '../parts/button.tsx')).toContain('knows neither sessions')
  expect(problemWith(`${web}/timeline/find.tsx`, '../request/card.tsx')).toContain('layer below')
  expect(problemWith(`${web}/app/main.tsx`, 'node:fs')).toContain('package node:fs')
  expect(problemWith(`${web}/app/main.tsx`, '@parley/server')).toContain('only client and protocol')
  expect(problemWith(`${web}/inbox/inbox-page.tsx`, '../request/card.tsx')).toBeUndefined()
})

it('the optional peers of @parley/server/testing are loaded in one place, so that it can be imported without them', () => {
  const testing = sourceFiles().filter((file) => file.startsWith(`${server}/testing/`))
  const loads = (file: string) =>
    /^import (?!type\b)[^'"]*from '(vitest|fast-check|@copilotkit\/aimock)'/m.test(
      readFileSync(join(root, file), 'utf8'),
    )
  expect(testing.length).toBeGreaterThan(10)
  expect(testing.filter(loads), 'import these names from testing/peers.ts').toEqual([])
})

function problemWith(file: string, specifier: string): string | undefined {
  const rule = rules.find(({ room }) => file === room || file.startsWith(`${room}/`))
  if (!rule) return `${file} is in no room: give its folder a rule in tests/architecture`
  const target = targetOf(file, specifier)
  if (target === undefined) {
    const allowed =
      rule.packages === undefined ||
      rule.packages.some((name) => specifier === name || specifier.startsWith(`${name}/`))
    return allowed ? undefined : `${file} imports the package ${specifier}: ${rule.instead}`
  }
  const allowed = rule.mayImport.some((room) => sees(file, target, room))
  return allowed ? undefined : `${file} imports ${target}: ${rule.instead}`
}

function sees(file: string, target: string, room: string): boolean {
  const parts = file.split('/')
  if (room === '(own folder)') return target.startsWith(`${parts.slice(0, 5).join('/')}/`)
  if (room === '(helper beside)')
    return target.startsWith(`${server}/adapters/`) && target.split('/').length === 5
  return target === room || target.startsWith(`${room}/`)
}
