import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { isUnreachable } from '@parley/client'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Flags, resolveConfiguration } from './configuration.ts'
import { connect, findServer } from './connect.ts'
import { contextUnderTest } from './context-under-test.ts'
import { proofOf } from './owner.ts'
import { createHome, type Home } from './program-under-test.ts'

type OwnerRecord = Record<'url' | 'instance' | 'secret', string> & { pid: number }

const recordFile = (home: Home) => join(home.dataDir, 'parley.sqlite.owner.json')
const readRecord = (home: Home) => JSON.parse(readFileSync(recordFile(home), 'utf8')) as OwnerRecord
const writeRecord = (home: Home, record: object) =>
  writeFileSync(recordFile(home), JSON.stringify(record), { mode: 0o600 })

/** Starts a server and kills it. The pid in the record is that of a running process, as if it had been reused. */
async function crashed(home: Home, args: readonly string[] = []) {
  const { running, token } = await home.serve(args)
  const record = { ...readRecord(home), pid: process.pid }
  running.child.kill('SIGKILL')
  await running.ended
  return { record, token }
}

type Proof = (challenge: string) => unknown

/**
 * A program of another user on the port of the record. It has everything that the health route of the ended
 * server returned.
 */
function impostorOf({ url, instance }: OwnerRecord, proof: Proof) {
  return listenAt(url, async (request, response) => {
    const challenge = new URL(request.url ?? '', url).searchParams.get('challenge') ?? ''
    const health = { ok: true, version: '1', instance, proof: await proof(challenge) }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...health, sessions: [], url: 'http://evil.example' }))
  })
}

type Respond = (request: IncomingMessage, response: ServerResponse) => unknown

async function listenAt(url: string, respond: Respond) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    // The next test may listen at the same port, so no connection to this server may be kept open and reused.
    response.setHeader('connection', 'close')
    respond(request, response)
  })
  server.listen(Number(new URL(url).port), '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const paths = (requests: readonly IncomingMessage[]) =>
  new Set(requests.map(({ url }) => url?.replace(/\?.*/, '')))
const sent = (requests: readonly IncomingMessage[]) =>
  requests.map(({ url, rawHeaders }) => [url, ...rawHeaders].join('\n')).join('\n')

const configurationOf = ({ dataDir, folder }: Home, flags: Flags = {}) =>
  resolveConfiguration({
    flags: { dataDir, ...flags },
    env: {},
    cwd: folder,
    home: homedir(),
    readConfig: () => ({}),
    readToken: () => '',
  })
const connectTo = (home: Home) =>
  connect(configurationOf(home), contextUnderTest({ env: {}, cwd: home.folder }).context)

/** A home for the tests of a `describe` block, and values that are computed once, by the first test that needs them. */
function sharedHome<Value>(prepare: (home: Home) => Promise<Value>) {
  const home = createHome()
  let prepared: Promise<Value> | undefined
  afterAll(() => home[Symbol.asyncDispose]())
  return async () => {
    prepared ??= prepare(home)
    return { home, ...(await prepared) }
  }
}

describe('a program on the port of a server that crashed', () => {
  const afterCrash = sharedHome(async (home) => ({
    ...(await crashed(home)),
    other: await home.serve(['--data-dir', join(home.folder, 'other')]),
  }))
  it.each<[string, (other: string) => Proof]>([
    ['no proof', () => () => undefined],
    ['the challenge as its proof', () => (challenge) => challenge],
    ['a proof of another secret', () => () => randomBytes(32).toString('base64url')],
    ['a proof that is not text', () => () => [{}]],
    [
      'the proof of another server of the same user',
      (other) => async (challenge) => {
        const answer = await fetch(`${other}/api/health?challenge=${challenge}`)
        return ((await answer.json()) as { proof?: string }).proof ?? expect.unreachable()
      },
    ],
  ])('gets no token if it answers with the right instance and %s', async (_, proofOf) => {
    const { home, record, token, other } = await afterCrash()
    await using impostor = await impostorOf(record, proofOf(other.url))

    writeRecord(home, record)
    const link = await home.run(['token', '--link'])
    expect(link).toMatchObject({ exitCode: 1, stdout: '' })
    expect(link.stderr).toContain('No server uses')
    const doctor = await home.run(['doctor', '--port', '0'])
    expect(doctor.stdout).toMatch(/^ok +server +not running/m)
    expect(await home.run(['sessions'])).toMatchObject({ exitCode: 0 })

    expect(impostor.requests).toHaveLength(3)
    expect(paths(impostor.requests)).toEqual(new Set(['/api/health']))
    expect(sent(impostor.requests)).not.toContain(token)
    expect(sent(impostor.requests)).not.toMatch(/authorization|sec-websocket/i)
    expect(sent(impostor.requests)).not.toContain(record.secret)
  })

  const restarted = sharedHome(async (home) => ({ last: { server: await home.serve() } }))
  const forged = (code: string, details = {}) =>
    JSON.stringify({ error: { code, message: '\u001b[2Jforged', details } })
  it.each([
    ['a wrong proof', 200, JSON.stringify({ ok: true, proof: randomBytes(32).toString('base64url') })],
    ['null', 200, 'null'],
    ['text that is not JSON', 200, '<html>'],
    ['401 and an error', 401, forged('unauthorized')],
    ['401 and an error that counts as unreachable', 401, forged('unauthorized', { reason: 'unreachable' })],
    ['403 and an error', 403, forged('forbidden')],
  ])('gets no token from a command that was connected before, if it answers with %s', async (...answer) => {
    const [, status, body] = answer
    const { home, last } = await restarted()
    const { running, url, token } = last.server
    await using connected = await connectTo(home)
    const { client } = connected
    expect(connected).toMatchObject({ embedded: false, url })
    running.child.kill('SIGKILL')
    await running.ended
    using _ = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
    {
      await using impostor = await listenAt(url, (_, response) => response.writeHead(status).end(body))
      const thrown: unknown = await client.call('listSessions').catch((error) => error)
      expect(thrown).toSatisfy(isUnreachable)
      expect(thrown).toMatchObject({ code: 'busy', message: expect.not.stringContaining('forged') })
      client.socket.open()
      await vi.waitFor(() => expect(client.socket.status).toMatchObject({ state: 'waiting' }))
      expect(paths(impostor.requests)).toEqual(new Set(['/api/health']))
      expect(sent(impostor.requests)).not.toContain(token)
    }
    last.server = await home.serve(['--port', new URL(url).port])
    expect(await client.call('listSessions')).toMatchObject({ sessions: [] })
  })

  it('gets no token in the second after a proof, once a call has failed or the socket was lost', async () => {
    await using home = createHome()
    const { running, url, token } = await home.serve()
    await using called = await connectTo(home)
    await using followed = await connectTo(home)
    followed.client.socket.open()
    await vi.waitFor(() => expect(followed.client.socket.status.state).toBe('open'))
    using _ = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    await Promise.all([called, followed].map(({ client }) => client.call('listSessions')))
    running.child.kill('SIGKILL')
    await running.ended
    await vi.waitFor(() => expect(followed.client.socket.status.state).not.toBe('open'))
    await expect(called.client.call('listSessions')).rejects.toSatisfy(isUnreachable)
    await using impostor = await listenAt(url, (_, response) => response.end('{}'))
    for (const { client } of [called, followed])
      await expect(client.call('listSessions')).rejects.toSatisfy(isUnreachable)
    expect(paths(impostor.requests)).toEqual(new Set(['/api/health']))
    expect(sent(impostor.requests)).not.toContain(token)
  })

  it('does not stop the socket with an error of its own, even in the second after a proof', async () => {
    await using home = createHome()
    const { running, url } = await home.serve()
    await using connected = await connectTo(home)
    const { client } = connected
    using _ = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    await client.call('listSessions')
    running.child.kill('SIGKILL')
    await running.ended
    const body = forged('unauthorized')
    await using _impostor = await listenAt(url, (_, response) => response.writeHead(401).end(body))
    client.socket.open()
    await vi.waitFor(() => expect(client.socket.status).toHaveProperty('error'))
    expect(client.socket.status).toMatchObject({ state: 'waiting', error: { code: 'busy' } })
  })

  it('gets no request after the server was started again at another URL', async () => {
    await using home = createHome()
    const { running, url } = await home.serve()
    await using connected = await connectTo(home)
    running.child.kill('SIGKILL')
    await running.ended
    await using impostor = await listenAt(url, (_, response) => response.end('{}'))
    await home.serve()
    using _ = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
    await expect(connected.client.call('listSessions')).rejects.toSatisfy(isUnreachable)
    expect(impostor.requests).toEqual([])
  })
})

describe('the owner record', () => {
  it('is readable only by its user, and no reply of the server contains its secret', async () => {
    await using home = createHome()
    const { running, url, token } = await home.serve()
    const { secret } = readRecord(home)
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(statSync(recordFile(home)).mode & 0o777).toBe(0o600)
    const challenge = randomBytes(32).toString('base64url')
    for (const path of [
      '/api/health',
      `/api/health?challenge=${challenge}`,
      '/metrics',
      '/api/openapi.json',
    ]) {
      const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
      expect([path, answer.status, (await answer.text()).includes(secret)]).toEqual([path, 200, false])
    }
    running.child.kill('SIGTERM')
    const { stdout, stderr } = await running.ended
    expect(stdout + stderr).not.toContain(secret)
  })

  it('has the address of the socket if the server got a host name, which may have several addresses', async () => {
    await using home = createHome()
    const { url } = await home.serve(['--host', 'localhost'])
    expect(url).toMatch(/^http:\/\/localhost:\d+$/)
    expect(readRecord(home).url).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/)
    expect((await home.run(['token', '--link'])).stdout).toContain(`${url}/`)
  })

  it('has a new secret after each start, and is made private again', async () => {
    await using home = createHome()
    const { record } = await crashed(home)
    chmodSync(recordFile(home), 0o644)
    await home.serve()
    expect(readRecord(home).secret).not.toBe(record.secret)
    expect(statSync(recordFile(home)).mode & 0o777).toBe(0o600)
  })

  it('of an older version, which has no secret, is refused with advice while its server runs', async () => {
    await using home = createHome()
    const { pid } = await home.serve()
    writeRecord(home, { ...readRecord(home), secret: undefined })
    for (const args of [['sessions'], ['token', '--link']]) {
      const { exitCode, stderr } = await home.run(args)
      expect([args[0], exitCode]).toEqual([args[0], 1])
      expect(stderr).toContain(`(pid ${pid}, `)
      expect(stderr).toContain('older version of Parley')
      expect(stderr).toContain('Stop that server and start it again')
    }
    expect((await home.run(['doctor', '--port', '0'])).stdout).toMatch(/^warn server .*older version/m)
  })

  it('that other users can read is refused with advice while its server runs', async () => {
    await using home = createHome()
    await home.serve()
    chmodSync(recordFile(home), 0o640)
    const { exitCode, stderr } = await home.run(['sessions'])
    expect(exitCode).toBe(1)
    expect(stderr).toContain(`Other users can read ${recordFile(home)}`)
    expect(stderr).toContain('Stop that server and start it again')
  })

  it.each([
    ['without the identity of a database', undefined],
    ['with the identity of another database', '1:2'],
  ])('%s is refused if the folder has no database, even if a server proves it', async (_, database) => {
    await using home = createHome()
    const secret = randomBytes(32).toString('base64url')
    const record = { instance: 'one', secret, database, pid: process.pid }
    await using server = await listenAt('http://127.0.0.1:0', (request, response) => {
      const { url, instance } = { ...record, url: server.url }
      const challenge = new URL(request.url ?? '', url).searchParams.get('challenge') ?? ''
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ ok: true, sessions: [], proof: proofOf({ secret, instance, url }, challenge) }),
      )
    })
    mkdirSync(home.dataDir)
    writeRecord(home, { ...record, url: server.url })
    const configuration = configurationOf(home, { token: 'the-token-of-the-user' })
    for (const lock of ['held', 'unknown'] as const)
      await expect(findServer(configuration, { lock })).rejects.toMatchObject({ code: 'conflict' })
    expect(sent(server.requests)).not.toContain('the-token-of-the-user')
  })

  const withoutServer = sharedHome(crashed)
  it.each([
    ['without a secret', 0o600, { secret: undefined }],
    ['without the identity of its database', 0o600, { database: undefined }],
    ['that other users can read', 0o644, {}],
  ])('%s is ignored if no process holds the data folder', async (_, mode, changes) => {
    const { home, record } = await withoutServer()
    writeRecord(home, { ...record, ...changes })
    chmodSync(recordFile(home), mode)
    expect(await home.run(['sessions'])).toMatchObject({ exitCode: 0 })
  })
})

describe('the challenge of health', () => {
  it('is refused unless it is 32 bytes as base64url', async () => {
    await using home = createHome()
    const { url } = await home.serve()
    for (const challenge of [
      '',
      'a',
      'a'.repeat(42),
      'a'.repeat(44),
      `${'a'.repeat(42)}%0A`,
      `${'a'.repeat(42)}=`,
    ]) {
      const { status } = await fetch(`${url}/api/health?challenge=${challenge}`)
      expect([challenge, status]).toEqual([challenge, 400])
    }
    const health = (await (await fetch(`${url}/api/health`)).json()) as object
    expect(health).not.toHaveProperty('proof')
  })
})
