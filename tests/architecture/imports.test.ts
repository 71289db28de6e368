import { describe, expect, it } from 'vitest'
import { adapterKitRules } from './adapter-rules.ts'
import { dependencyProblem, importProblem, typesOnly, unusedEntries } from './check-import.ts'
import { consoleRules } from './console-rules.ts'
import { serverRules } from './import-rules.ts'
import { packageRules } from './package-rules.ts'
import { importsOf, server, sourceFiles, textOf, web } from './workspace.ts'

const rules = [...packageRules, ...adapterKitRules, ...serverRules, ...consoleRules()]
const files = sourceFiles()
const imports = files.flatMap((file) => importsOf(file).map((specifier) => [file, specifier] as const))

it('every import is allowed by the rule of its folder', () => {
  expect(files.length).toBeGreaterThan(500)
  expect(imports.flatMap(([file, specifier]) => importProblem(rules, file, specifier) ?? [])).toEqual([])
})

it('every imported package is a dependency of the package that imports it', () => {
  expect(imports.flatMap(([file, specifier]) => dependencyProblem(file, specifier) ?? [])).toEqual([])
})

it('of a package that is installed only to build Parley, only types are imported', () => {
  const importing = files.filter((file) => importsOf(file).some((one) => typesOnly.has(one)))
  const found = importing.flatMap((file) =>
    [...textOf(file).matchAll(/^(?:import|export)\s(?!type\b)[^'";]*?from '([^']+)'|import\('([^']+)'\)/gm)]
      .map((match) => match[1] ?? match[2] ?? '')
      .filter((one) => typesOnly.has(one))
      .map((one) => `${file} loads ${one}`),
  )
  expect(importing.length).toBeGreaterThan(5)
  expect(found).toEqual([])
})

it('every entry of the import rules is used', () => {
  expect(unusedEntries(rules)).toEqual([])
})

describe('a violation of the import rules is reported:', () => {
  it.each([
    [`${server}/core/decide.ts`, '../stores/sqlite.ts', 'Add a port'],
    [`${server}/core/decide.ts`, 'ws', 'Add a port'],
    [`${server}/faces/http/sse.ts`, '../../core/decide.ts', 'core/index.ts'],
    [`${server}/faces/http/sse.ts`, '../chat/index.ts', 'another face'],
    [`${server}/workspace/git.ts`, '../core/index.ts', 'pass in what it needs'],
    [`${server}/transcripts/ui-messages.ts`, 'node:fs', 'pure functions'],
    [`${server}/testing/reader.ts`, '../cli/start.ts', 'not the client, a face or the CLI'],
    [`${server}/testing/reader.ts`, '@parley/client', 'not the client, a face or the CLI'],
    [`${server}/adapters/scripted/index.ts`, '../claude/index.ts', 'never another agent'],
    [`${server}/adapters/scripted/index.ts`, '../index.ts', 'never another agent'],
    [`${server}/adapters/scripted/index.ts`, '../install.ts', 'only the adapter kit'],
    [`${server}/adapters/scripted/index.ts`, '../../core/index.ts', 'only the adapter kit'],
    ['packages/adapter-kit/src/json-rpc.ts', '@parley/server', 'neither the server nor an agent'],
    ['packages/adapter-kit/src/testing/run-case.ts', 'vitest', 'no test runner and no server'],
    [`${server}/adapters/scripted/index.ts`, '@parley/adapter-kit/testing', 'only the adapter kit'],
    [`${server}/adapters/claude/index.ts`, '@opencode-ai/sdk', 'never another agent'],
    [`${server}/cli/start.ts`, '../adapters/claude/index.ts', 'the list of agents'],
    [`${server}/cli/start.ts`, '../../../client/src/http.ts', 'an entry point of @parley/client'],
    [`${server}/new-folder/file.ts`, 'node:fs', 'has no import rule'],
    ['packages/client/src/http.ts', 'node:fs', 'runs in browsers'],
    ['packages/client/src/http.ts', '@parley/protocol/event', 'no entry point'],
    [`${web}/base/focus.ts`, '../parts/button.tsx', 'knows neither sessions'],
    [`${web}/timeline/find.tsx`, '../request/card.tsx', 'layer below'],
    [`${web}/app/main.tsx`, 'node:fs', 'only client and protocol'],
    [`${web}/app/main.tsx`, '@parley/server', 'only client and protocol'],
    [`${web}/app/main.tsx`, '@parley/server/embed', 'only client and protocol'],
    [`${web}/app/main.tsx`, '../../../../packages/client/src/index.ts', 'an entry point of @parley/client'],
    ['examples/one-prompt.ts', '../packages/server/src/index.ts', 'an entry point of @parley/server'],
  ])('%s imports %s', (file, specifier, instead) => {
    expect(importProblem(rules, file, specifier)).toContain(instead)
  })

  it('a package that is not a dependency', () => {
    const file = 'packages/client/src/http.ts'
    expect(dependencyProblem(file, 'ws/lib/stream.js')).toContain(
      'dependencies in packages/client/package.json',
    )
    expect(dependencyProblem(file, '@parley/protocol')).toBeUndefined()
  })

  it('an entry that no file needs', () => {
    const rule = { folder: 'examples', mayImport: [], packages: ['node:dgram'], instead: '' }
    expect(unusedEntries([rule])).toEqual([expect.stringContaining('no file of examples imports node:dgram')])
  })
})

it.each([
  [`${server}/adapters/scripted/index.ts`, '@parley/adapter-kit/environment'],
  [`${server}/faces/http/sse.ts`, '../../core/index.ts'],
  [`${web}/inbox/inbox-page.tsx`, '../request/card.tsx'],
  [`${web}/app/main.tsx`, '@parley/client/react'],
])('%s may import %s', (file, specifier) => {
  expect(importProblem(rules, file, specifier)).toBeUndefined()
})

it('the optional peers of @parley/server/testing are loaded in one place, so that it can be imported without them', () => {
  const testing = sourceFiles().filter((file) => file.startsWith(`${server}/testing/`))
  const loads = (file: string) =>
    /^import (?!type\b)[^'"]*from '(vitest|fast-check|@copilotkit\/aimock)'/m.test(textOf(file))
  expect(testing.length).toBeGreaterThan(10)
  expect(testing.filter(loads), 'import these names from testing/peers.ts').toEqual([])
})
