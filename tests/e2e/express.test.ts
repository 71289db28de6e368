import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@parley/client'
import { afterAll, expect, it } from 'vitest'
import { listen } from './console-browser.ts'
import { browserFixture } from './console-fixture.ts'
import { allowOnce, card, chooseAgent, shows } from './console-page.ts'

let child: ChildProcess
let url: string

const { browser } = browserFixture({ url: '', newLink: async () => '' }, async () => {
  const args = ['--no-warnings', '--conditions=source', join(import.meta.dirname, 'express-server.ts')]
  child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout! }), 'line')
  url = line
})

afterAll(async () => {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

const headers = { authorization: 'Bearer a-token-for-the-test', 'content-type': 'application/json' }

it.each([
  ['app.use(path, …) with that path as base', '/with-base'],
  ['app.use(path, …) without a base', '/without-base'],
  ['app.use(…) with a base', '/not-mounted'],
  ['app.use(path, …) behind express.json()', '/after-json'],
  ['a router with a base inside it', '/router/inner'],
])('answers requests and streams when it is mounted by %s', async (_, path) => {
  const get = (rest: string, accept = '*/*') =>
    fetch(`${url}${path}${rest}`, { headers: { ...headers, accept } })
  expect(await (await get('/api/health')).json()).toMatchObject({ ok: true })
  const body = JSON.stringify({ agent: 'demo', cwd: tmpdir() })
  const made = await fetch(`${url}${path}/api/sessions`, { method: 'POST', headers, body })
  expect(made.status).toBe(201)
  const { id } = (await made.json()) as { id: string }
  const stream = await get(`/api/sessions/${id}/events`, 'text/event-stream')
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toContain('event: following')
  await reader.cancel()
  expect((await get(`${path}/api/health`)).status).toBe(404)
})

it('an embedded Parley leaves other URLs to the server that embeds it', async () => {
  for (const path of ['/', '/with-basement', '/router/api/health', '/api/health']) {
    expect(await (await fetch(url + path)).text()).toBe('not Parley')
  }
})

it('a client of an embedded Parley follows a session over a WebSocket', async () => {
  using client = createClient({ url: `${url}/with-base`, token: 'a-token-for-the-test' })
  const { id } = await client.createSession({ agent: 'demo', cwd: tmpdir(), prompt: 'help' })
  const types: string[] = []
  for await (const event of client.events(id)) {
    types.push(event.type)
    if (event.type === 'turn.ended') break
  }
  expect(types[0]).toBe('session.created')
})

it('an embedded Parley serves the console under its path to a browser that the embedding server signs in', async () => {
  const context = await browser().newContext()
  const page = await context.newPage()
  const consoleErrors: string[] = []
  listen(page, consoleErrors)
  const paths: string[] = []
  page.on('request', (request) => paths.push(new URL(request.url()).pathname))
  page.on('websocket', (socket) => paths.push(new URL(socket.url()).pathname))
  await page.goto(`${url}/sign-in`)
  await chooseAgent(page, 'Demo')
  await page.getByLabel('Folder', { exact: true }).fill(tmpdir())
  await page.getByRole('combobox', { name: 'Prompt' }).fill('show a permission')
  await page.getByRole('combobox', { name: 'Prompt' }).press('Enter')
  await page.waitForURL(/\/parley\/sessions\//)
  await card(page).getByText('rm -rf build').waitFor()
  await page.reload()
  await allowOnce(page).click()
  await shows(page, /Thank you/)
  await page.goto(`${url}/parley`)
  await page
    .getByRole('link', { name: /show a permission/ })
    .first()
    .waitFor()
  expect(paths.filter((path) => !/^\/(parley(\/|$)|sign-in$)/.test(path))).toEqual([])
  expect(paths).toContain('/parley/api/ws')
  expect(consoleErrors).toEqual([])
  await context.close()
})
