import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Project, projectIdOf } from '@parley/protocol'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { git, write } from '../../workspace/hostile-repository-under-test.ts'
import { createWorkspace } from '../../workspace/index.ts'
import { type Answer, type Asked, type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

type Opened = {
  readonly server: ServerUnderTest
  readonly app: string
  readonly other: string
  readonly id: string
}

/**
 * A server with a session in a repository and a session in a plain folder. `runs` returns the number of git
 * processes.
 */
async function opened(): Promise<Opened & { runs(): number }> {
  const root = folderForTest()
  const [app, other, bin] = [join(root, 'app'), join(root, 'other'), join(root, 'bin')]
  for (const folder of [other, bin]) mkdirSync(folder)
  write(app, { 'a.txt': 'a\n' })
  git(app, 'init', '-q', '-b', 'main')
  git(app, 'add', '-A')
  git(app, 'commit', '-qm', 'first')
  writeFileSync(join(bin, 'git'), `#!/bin/sh\necho x >> '${root}/runs'\nPATH=/usr/bin:/bin exec git "$@"\n`)
  chmodSync(join(bin, 'git'), 0o755)
  const workspace = createWorkspace({ env: { PATH: `${bin}:${process.env.PATH}`, HOME: root } })
  const host = await createHost({
    adapters: [createScriptedAdapter()],
    store: createMemoryStore(),
    commitOf: workspace.commit,
  })
  const server = await serverUnderTest(host, { workspace })
  onTestFinished(async () => {
    await server.close()
    await host.close()
  })
  for (const cwd of [app, other])
    expect((await server.ask('/api/sessions', { body: { agent: 'scripted', cwd } })).status).toBe(201)
  const counted = join(root, 'runs')
  return {
    ...{ server, app, other, id: projectIdOf({ project: join(app, '.git') }) },
    runs: () => (existsSync(counted) ? readFileSync(counted, 'utf8').length : 0),
  }
}

type Rights = { readonly scopes: readonly string[]; readonly limits?: object }

/** Sends requests with a new token that has these rights. */
async function tokenWith(server: ServerUnderTest, rights: Rights) {
  const made = await server.ask('/api/tokens', { body: { name: 'test', ...rights } })
  expect(made.status).toBe(201)
  const authorization = `Bearer ${made.body.token}`
  return (path: string, asked: Asked = {}): Promise<Answer> =>
    server.ask(path, { ...asked, token: false, headers: { authorization } })
}

const projectsIn = ({ body }: Answer) => body.projects as Project[]
const patch = (id: string) => `/api/projects/${id}`

it('a list of sessions or projects starts no git process, although branches are shown', async () => {
  const { server, app, id, runs } = await opened()
  const before = runs()
  expect(before).toBeGreaterThan(0)
  const projects = projectsIn(await server.ask('/api/projects'))
  expect(projects.find((project) => project.id === id)?.folders).toEqual([
    { folder: app, sessions: 1, branch: 'main' },
  ])
  const { body } = await server.ask(`/api/sessions?project=${id}`)
  expect(body.sessions).toMatchObject([{ cwd: app, project: join(app, '.git') }])
  expect(runs()).toBe(before)
})

it('no request can set the project of a session', async () => {
  const { server, app, other } = await opened()
  const body = { agent: 'scripted', cwd: other, project: join(app, '.git') }
  expect((await server.ask('/api/sessions', { body })).status).toBe(400)
})

describe('settings of a project', () => {
  it.each<[string, object, readonly string[], readonly string[]]>([
    ['a name', { name: 'Shop' }, ['read', 'prompt'], ['read', 'decide']],
    ['a base branch', { base: 'main' }, ['read', 'prompt', 'decide', 'admin'], ['read', 'prompt', 'decide']],
    ['files to copy', { copy: ['.env'] }, ['read', 'prompt', 'decide', 'admin'], ['read', 'prompt', 'admin']],
    ['days to keep', { keepDays: 3 }, ['read', 'prompt', 'admin'], ['read', 'prompt', 'decide']],
    ['a setup command', { setup: 'x' }, ['read', 'prompt', 'decide', 'admin'], ['read', 'prompt', 'admin']],
    ['a check command', { check: 'x' }, ['read', 'prompt', 'decide', 'admin'], ['read', 'prompt', 'decide']],
    [
      'removing a command',
      { check: null },
      ['read', 'prompt', 'decide', 'admin'],
      ['read', 'prompt', 'admin'],
    ],
    ['a name and a command', { name: 'x', check: 'x' }, ['prompt', 'decide', 'admin'], ['read', 'prompt']],
  ])('%s needs its scopes', async (_, body, enough, tooFew) => {
    const { server, id } = await opened()
    const may = await tokenWith(server, { scopes: enough })
    const mayNot = await tokenWith(server, { scopes: tooFew })
    const refused = await mayNot(patch(id), { method: 'PATCH', body })
    expect([refused.status, refused.body.error]).toMatchObject([403, { code: 'forbidden' }])
    const [before] = projectsIn(await server.ask('/api/projects'))
    expect(before?.changes).toBeUndefined()
    expect((await may(patch(id), { method: 'PATCH', body })).status).toBe(200)
  })

  it('are recorded with the caller, and refused for unknown projects and wrong values', async () => {
    const { server, app, id } = await opened()
    const may = await tokenWith(server, { scopes: ['read', 'prompt', 'decide', 'admin'] })
    const body = { name: 'Shop', check: 'npm test' }
    const changed = await may(patch(id), { method: 'PATCH', body })
    expect(changed.body).toMatchObject({
      name: 'Shop',
      settings: body,
      changes: { check: { at: expect.any(Number), by: { token: { name: 'test' } } } },
    })
    expect((await may(patch(projectIdOf({ project: '/etc' })), { method: 'PATCH', body })).status).toBe(404)
    expect((await may(patch('nonsense'), { method: 'PATCH', body })).status).toBe(400)
    expect((await may(patch(id), { method: 'PATCH', body: { base: '-x' } })).status).toBe(400)
    expect(projectsIn(await server.ask('/api/projects')).map(({ root }) => root)).toContain(app)
  })
})

describe('a caller with limits', () => {
  it('sees and counts only sessions within the limits, and sees no settings', async () => {
    const { server, app, other, id } = await opened()
    await server.ask(patch(id), { method: 'PATCH', body: { check: 'npm test' } })
    const { body } = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd: app } })
    const mine = body.id as string
    const inOther = await tokenWith(server, { scopes: ['read'], limits: { folders: [{ folder: other }] } })
    expect(projectsIn(await inOther('/api/projects')).map(({ root }) => root)).toEqual([other])
    expect((await inOther(`/api/sessions?project=${id}`)).body.sessions).toEqual([])
    const ofOne = await tokenWith(server, { scopes: ['read'], limits: { sessions: [mine] } })
    const [seen, ...others] = projectsIn(await ofOne('/api/projects'))
    expect(others).toEqual([])
    expect(seen).toMatchObject({ id, sessions: 1 })
    expect(seen).not.toHaveProperty('settings')
    expect(seen).not.toHaveProperty('changes')
    const ofAgent = await tokenWith(server, { scopes: ['read'], limits: { agents: ['another'] } })
    expect(projectsIn(await ofAgent('/api/projects'))).toEqual([])
  })

  it('may not change a project', async () => {
    const { server, app, id } = await opened()
    const limited = await tokenWith(server, {
      scopes: ['read', 'prompt'],
      limits: { folders: [{ folder: app }] },
    })
    const refused = await limited(patch(id), { method: 'PATCH', body: { name: 'x' } })
    expect([refused.status, refused.body.error]).toMatchObject([403, { details: { limits: true } }])
  })
})
