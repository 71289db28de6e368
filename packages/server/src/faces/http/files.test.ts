import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessUnderTest } from '../access-under-test.ts'

/** Tests who may read which files of a session's folder. The workspace's own tests cover the rest. */

type Server = Awaited<ReturnType<typeof start>>
let server: Server
beforeAll(async () => {
  server = await start()
})
afterAll(() => server[Symbol.asyncDispose]())

async function start() {
  const started = await accessUnderTest((folder) => ({
    viewer: { scopes: ['read'] },
    limited: { scopes: ['read'], limits: { folders: [{ folder: join(folder, 'project') }] } },
    elsewhere: { scopes: ['read'], limits: { folders: [{ folder: join(folder, 'none') }] } },
    trusted: { scopes: ['read', 'terminal'] },
  }))
  const project = join(started.folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'a.txt'), 'hello')
  writeFileSync(join(project, '.env'), 'KEY=1')
  writeFileSync(join(project, '.gitignore'), '.env\n')
  execFileSync('git', ['init', '-q'], { cwd: project })
  return Object.assign(started, { project })
}

const isForbidden = { status: 403, body: { error: { code: 'forbidden' } } }

it('whoever may read a session reads the files that git lists', async () => {
  const path = `/api/sessions/${await server.session(server.project)}`
  for (const token of [server.tokens.viewer, server.tokens.limited, server.tokens.trusted]) {
    const file = await server.ask(`${path}/file?path=a.txt`, {}, token)
    expect(file).toMatchObject({ status: 200, body: { type: 'text', text: 'hello', path: 'a.txt' } })
    const tree = await server.ask(`${path}/tree`, {}, token)
    expect(tree.body.entries).toEqual([
      { name: '.env', kind: 'file', size: 5, ignored: true },
      { name: '.gitignore', kind: 'file', size: 5 },
      { name: 'a.txt', kind: 'file', size: 5 },
    ])
    expect(await server.ask(`${path}/file?path=.env`, {}, token)).toMatchObject(isForbidden)
  }
  expect((await server.ask(`${path}/file?path=a.txt`, {}, server.tokens.elsewhere)).status).toBe(404)
  expect((await server.ask(`${path}/tree`, {}, server.tokens.elsewhere)).status).toBe(404)
})

it('only a caller with the scope terminal reads other files', async () => {
  const path = `/api/sessions/${await server.session(server.project)}`
  for (const token of [server.tokens.viewer, server.tokens.limited])
    for (const query of ['file?path=.env&all=true', 'file?path=a.txt&all=true', 'tree?all=true'])
      expect(await server.ask(`${path}/${query}`, {}, token)).toMatchObject(isForbidden)
  const { body } = await server.ask(`${path}/file?path=.env&all=true`, {}, server.tokens.trusted)
  expect(body).toMatchObject({ type: 'text', text: 'KEY=1' })
})

it('without a repository, only a caller with the scope terminal reads the patches of changes', async () => {
  const plain = join(server.folder, 'plain')
  mkdirSync(plain)
  writeFileSync(join(plain, '.env'), 'KEY=1\n')
  const { id } = await server.parley.host.create({ agent: 'scripted', cwd: plain, prompt: '[]' })
  const path = `/api/sessions/${id}`
  const changes = () => server.ask(`${path}/changes?scope=session`, {}, server.tokens.viewer)
  await expect
    .poll(async () => (await changes()).body.compared)
    .toMatchObject({ from: { tree: expect.any(String) } })
  writeFileSync(join(plain, '.env'), 'KEY=2\n')
  expect((await changes()).body.files).toMatchObject([{ path: '.env', status: 'modified' }])
  const patch = `${path}/changes/patch?path=.env&scope=session`
  for (const [query, token] of [
    ['', server.tokens.viewer],
    ['&all=true', server.tokens.viewer],
    ['', server.tokens.trusted],
  ])
    expect(await server.ask(patch + query, {}, token)).toMatchObject(isForbidden)
  const { body } = await server.ask(`${patch}&all=true`, {}, server.tokens.trusted)
  expect(body.patch).toContain('+KEY=2')
})
