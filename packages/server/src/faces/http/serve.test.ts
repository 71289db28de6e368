import { once } from 'node:events'
import { mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { routes } from '@parley/protocol'
import { afterAll, describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import { createCommandLine } from '../../cli/command-line.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { codeOf, signedIn } from './device-under-test.ts'
import { serverUnderTest, testToken } from './server-under-test.ts'

const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
const cwd = await mkdtemp(join(tmpdir(), 'parley-serve-'))
afterAll(() => host.close())

describe('the server', () => {
  it('answers every route of the protocol', async () => {
    await using server = disposable(await serverUnderTest(host))
    const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd } })
    for (const [name, route] of Object.entries(routes)) {
      const path = route.path.replace(/:(id|code)/, made.body.id as string)
      const body = route.method === 'POST' || route.method === 'PATCH' ? {} : undefined
      const answer = await server.ask(path, { method: route.method, ...(body && { body }) })
      expect([name, answer.status === 405 || answer.text.includes('openapi.json lists')]).toEqual([
        name,
        false,
      ])
      expect([name, answer.status < 500]).toEqual([name, true])
    }
  })

  it('drives a session from its creation to its end', async () => {
    await using server = disposable(await serverUnderTest(host))
    const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd, title: 'First' } })
    const path = `/api/sessions/${made.body.id}`
    expect(
      (await server.ask(`${path}/commands`, { body: { commandId: 'a', type: 'prompt.submit', text: 'hi' } }))
        .status,
    ).toBe(202)
    const followed = await server.follow(made.body.id as string)
    await followed.until((frame) => frame.data.type === 'turn.ended')
    followed.leave()
    const detail = await server.ask(`${path}?tail=10`)
    expect(detail.body).toMatchObject({
      title: 'First',
      turns: 1,
      blocks: [{ type: 'prompt' }, { type: 'text', text: 'hi' }, { type: 'turn-end' }],
    })
    const patched = await server.ask(path, { method: 'PATCH', body: { title: 'Second', archived: true } })
    expect(patched.body).toMatchObject({ title: 'Second', archived: true })
    const ids = async (query: string) =>
      ((await server.ask(`/api/sessions?${query}`)).body.sessions as { id: string }[]).map(({ id }) => id)
    expect(await ids('q=second')).toEqual([])
    expect(await ids('q=second&archived=true')).toEqual([made.body.id])
    expect(await ids('q=second&archived=all')).toEqual([made.body.id])
    const deleted = await server.ask(path, { method: 'DELETE' })
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect((await server.ask(path)).status).toBe(404)
  })

  it('stores and deletes rules', async () => {
    await using server = disposable(await serverUnderTest(host))
    const body = { tool: 'Bash', match: { command: 'ls *' }, decision: 'allow', scope: 'always' }
    const made = await server.ask('/api/rules', { body })
    expect([made.status, made.body]).toEqual([201, expect.objectContaining(body)])
    expect((await server.ask('/api/rules', { body })).body).toEqual(made.body)
    expect((await server.ask('/api/rules')).body).toEqual({ rules: [made.body] })
    expect((await server.ask(`/api/rules/${made.body.ruleId}`, { method: 'DELETE' })).status).toBe(204)
    expect((await server.ask('/api/rules')).body).toEqual({ rules: [] })
  })

  it("stores the real path of a rule's folder, even if a link was given", async () => {
    await using server = disposable(await serverUnderTest(host))
    const link = join(await mkdtemp(join(tmpdir(), 'parley-link-')), 'there')
    await symlink(cwd, link)
    const body = { tool: 'Bash', decision: 'deny', scope: 'project', project: link }
    const { ruleId, project } = (await server.ask('/api/rules', { body })).body
    expect(project).toBe(await realpath(cwd))
    await server.ask(`/api/rules/${ruleId}`, { method: 'DELETE' })
  })

  it('finds files in a folder without a session', async () => {
    await using server = disposable(await serverUnderTest(host))
    const folder = await mkdtemp(join(tmpdir(), 'parley-files-'))
    await writeFile(join(folder, 'greeting.ts'), '')
    await writeFile(join(folder, 'other.ts'), '')
    const found = await server.ask(`/api/files?cwd=${encodeURIComponent(folder)}&q=greet`)
    expect(found.body).toEqual({ files: ['greeting.ts'] })
  })

  it('takes a first prompt with attachments', async () => {
    await using server = disposable(await serverUnderTest(host))
    const prompt = [
      { type: 'text', text: 'hi' },
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
    ]
    const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd, prompt } })
    const followed = await server.follow(made.body.id as string)
    await followed.until((frame) => frame.data.type === 'turn.ended')
    followed.leave()
    const { body } = await server.ask(`/api/sessions/${made.body.id}?tail=10`)
    expect((body.blocks as object[])[0]).toMatchObject({ type: 'prompt', parts: prompt })
  })

  it('stores and deletes trusted folders', async () => {
    await using server = disposable(await serverUnderTest(host))
    const folder = await mkdtemp(join(cwd, 'a & b? ü '))
    const made = await server.ask('/api/trust', { body: { folder: `${folder}/` } })
    const trustedBy = {
      person: { id: 'per_owner', name: 'owner' },
      token: { id: 'tok_machine', name: 'this machine' },
      via: 'http',
    }
    expect([made.status, made.body]).toEqual([201, { folder, trustedAt: expect.any(Number), trustedBy }])
    expect((await server.ask('/api/trust')).body).toEqual({ folders: [made.body] })
    const session = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd: folder } })
    const trusted = async () => (await server.ask(`/api/sessions/${session.body.id}`)).body.trusted
    expect(await trusted()).toBe(true)
    const query = new URLSearchParams({ folder })
    const gone = await server.ask(`/api/trust?${query}`, { method: 'DELETE' })
    expect([gone.status, gone.text]).toEqual([204, ''])
    expect(await trusted()).toBe(false)
    expect((await server.ask('/api/trust')).body).toEqual({ folders: [] })
  })

  it('sends security headers with every response', async () => {
    await using server = disposable(await serverUnderTest(host))
    for (const path of ['/', '/open', '/api/health', '/api/agents', '/nothing', '/api/openapi.json']) {
      const { headers } = await server.ask(path)
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
        'content-security-policy': expect.stringMatching(/^default-src 'none'.*frame-ancestors 'none'/),
      })
    }
  })

  it('hides a defect from clients and logs it in full', async () => {
    const broken = { ...host, agents: () => Promise.reject(new Error('the inside of /root/secret')) }
    await using server = disposable(await serverUnderTest(broken))
    const answer = await server.ask('/api/agents')
    expect([answer.status, answer.body]).toEqual([
      500,
      { error: { code: 'internal_error', message: expect.not.stringContaining('secret') } },
    ])
    expect(server.log.join('')).toMatch(/the inside of \/root\/secret.*serve\.test\.ts/)
    const odd = { ...host, agents: () => Promise.reject('just a string') }
    await using other = disposable(await serverUnderTest(odd))
    expect((await other.ask('/api/agents')).body).toMatchObject({ error: { code: 'internal_error' } })
  })

  it('serves a front page that says how to use the server, and shows no content of sessions', async () => {
    await using server = disposable(await serverUnderTest(host))
    const title = 'A title that is nobody’s business'
    const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd, title } })
    for (const path of ['/', '/open', `/sessions/${made.body.id}`]) {
      const page = await server.ask(path, { token: false })
      expect(page.status).toBe(200)
      expect(page.text).toContain(`ws://127.0.0.1:${server.port}/api/ws`)
      for (const secret of [title, made.body.id as string, cwd, '0.0.0-test']) {
        expect(page.text).not.toContain(secret)
      }
      expect(page.text).not.toMatch(/<script/)
    }
  })

  it('shows commands in the form in which the server was started', async () => {
    const commandLine = createCommandLine({ invocation: 'npm start --' })
    await using server = disposable(await serverUnderTest(host, { commandLine }))
    const page = await server.ask('/', { token: false })
    expect(page.text).toContain('$(npm start --silent -- token)')
    const refused = await server.ask('/api/sessions', { token: false })
    expect(refused.body.error).toMatchObject({ details: { link: 'npm start -- token --link' } })
    for (const { text } of [page, refused]) expect(text).not.toMatch(/npx|parley (token|run)/)
  })

  it('never logs a token, a code or a cookie', async () => {
    await using server = disposable(
      await serverUnderTest(host, { websocket: ({ socket }) => socket.destroy() }),
    )
    const { token, headers } = await signedIn(server)
    const made = await server.ask('/api/links', { method: 'POST', token: false, headers })
    const codes = [server.link(), server.link(), made.body.url as string].map(codeOf)
    const cookie = `parley-${server.port}=${codes[0]}`
    for (const path of [
      `/open/${codes[0]}`,
      `/%6fpen/${codes[1]}`,
      `//open/${codes[2]}`,
      `/x?token=${testToken}`,
      `/api/agents?t=${token}#${testToken}`,
      '/',
    ]) {
      await server.ask(path, { token: false, headers: { cookie } })
      await server.ask(path)
      await server.ask(path, { headers: { host: 'evil.example' } })
    }
    await server.ask('/api/sessions', { body: `{"token":"${testToken}"`, headers: { cookie } })
    const upgrade = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      path: `/api/ws?token=${testToken}`,
      headers: { connection: 'upgrade', upgrade: 'websocket', cookie, origin: 'https://evil.example' },
    }).end()
    await once(upgrade, 'response')
    upgrade.destroy()
    await server.close()
    const log = server.log.join('')
    expect(server.log.length).toBeGreaterThan(15)
    expect(log).toContain('"path":"/open/***"')
    for (const secret of [testToken, token, ...codes]) {
      expect(secret.length).toBeGreaterThan(10)
      expect(log.includes(secret)).toBe(false)
    }
  })

  it('closes promptly with open streams, idle sockets and half-sent requests', async () => {
    const sockets: { destroyed: boolean }[] = []
    const server = await serverUnderTest(host, {
      limits: { closeGraceMs: 200 },
      websocket: ({ socket }) => {
        sockets.push(socket)
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
      },
    })
    const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd } })
    const followed = await server.follow(made.body.id as string)
    const agent = new Agent({ keepAlive: true })
    const kept = httpRequest({ host: '127.0.0.1', port: server.port, path: '/api/health', agent }).end()
    const [response] = await once(kept, 'response')
    response.resume()
    await once(response, 'end')
    const half = connect(server.port, '127.0.0.1')
    half.on('error', () => {})
    half.write('POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n')
    const upgrade = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      path: '/api/ws',
      headers: { connection: 'upgrade', upgrade: 'websocket', authorization: `Bearer ${testToken}` },
    }).end()
    const [, upgraded] = await once(upgrade, 'upgrade')
    upgraded.on('error', () => {})

    const began = performance.now()
    await Promise.all([server.close(), server.close()])
    expect(performance.now() - began).toBeLessThan(800)
    await followed.ended
    expect(sockets.map((socket) => socket.destroyed)).toEqual([true])
    agent.destroy()
    half.destroy()
    upgraded.destroy()
  })

  it('lets a running request finish', async () => {
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const slow = {
      ...host,
      async rules() {
        reached.resolve()
        await gate.promise
        return host.rules()
      },
    }
    const server = await serverUnderTest(slow)
    const answer = server.ask('/api/rules')
    await reached.promise
    const closed = server.close()
    gate.resolve()
    expect((await answer).status).toBe(200)
    await closed
  })

  it('says what to do when the port is taken', async () => {
    await using server = disposable(await serverUnderTest(host))
    await expect(serverUnderTest(host, { port: server.port })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('--port'),
    })
    await expect(serverUnderTest(host, { hostname: '203.0.113.1' })).rejects.toMatchObject({
      code: 'validation_error',
    })
  })
})

function disposable<Server extends { close(): Promise<void> }>(server: Server): Server & AsyncDisposable {
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() })
}
