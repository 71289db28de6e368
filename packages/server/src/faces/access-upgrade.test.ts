import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { allScopes, decisionText, newId } from '@parley/protocol'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { type StartOptions, startParley } from '../cli/start.ts'
import { migrations } from '../stores/migrations/index.ts'
import { openPostgresNode } from '../stores/postgres/index.ts'
import { PostgresServer } from '../stores/postgres/postgres-under-test.ts'
import { openSqliteDatabase } from '../stores/sqlite-database.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { deviceUnderTest } from './http/device-under-test.ts'
import type { Answer, Asked } from './http/server-under-test.ts'

/** Tests that browsers which earlier versions have stored still work. */
const postgres = await PostgresServer.forFile()
const token = 'the-token-of-this-machine'

/**
 * Stores a browser as an early version did, with its name and its key only. Returns the options of a server that uses
 * this store.
 */
type StoreBrowser = (
  deviceId: string,
  publicKey: string,
) => Promise<Pick<StartOptions, 'dataDir' | 'databaseUrl'>>

function dataFolder(): string {
  const dataDir = join(folderForTest(), 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  return dataDir
}

const onSqlite: StoreBrowser = async (deviceId, publicKey) => {
  const dataDir = dataFolder()
  const file = join(dataDir, 'parley.sqlite')
  const old = openSqliteDatabase({ file, migrations: migrations.filter(({ version }) => version < 7) })
  old
    .prepare('INSERT INTO devices (id, name, public_key, created_at, last_seen_at) VALUES (?, ?, ?, 1, 2)')
    .run(deviceId, 'Old Firefox', publicKey)
  old.close()
  return { dataDir }
}

const onPostgres: StoreBrowser = async (deviceId, publicKey) => {
  const databaseUrl = await postgres.database()
  const { store } = await openPostgresNode({ url: databaseUrl, node: { url: '', place: 'machine:here' } })
  const data = { name: 'Old Firefox', publicKey }
  await store.putAccessRecord({ kind: 'device', id: deviceId, data, createdAt: 1, usedAt: 2 })
  await store.close()
  return { dataDir: dataFolder(), databaseUrl }
}

/** A server on which the browser is stored already. */
async function serverWith(storeBrowser: StoreBrowser) {
  const ask = async (path: string, { body, headers }: Asked = {}): Promise<Answer> => {
    const response = await fetch(parley.http.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: {}, text, body: JSON.parse(text) }
  }
  const deviceId = newId('dev')
  const device = deviceUnderTest({ ask, link: () => parley.http.link() }, '', deviceId)
  const logger = pino({ level: 'silent' })
  const stored = await storeBrowser(deviceId, device.publicKey)
  const parley = await startParley({ ...stored, token, logger, hostname: '127.0.0.1', port: 0 })
  return { ask, device, parley, [Symbol.asyncDispose]: () => parley.close() }
}

const stores = [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const

it.each(stores)(
  'a browser that signed in before there were people keeps all rights, and belongs to the owner, on %s',
  async (_, storeBrowser) => {
    await using server = await serverWith(storeBrowser)
    const { ask, device } = server
    const me = await ask('/api/me', { headers: { authorization: `Bearer ${await device.token()}` } })
    expect(me.body).toMatchObject({
      person: { personId: 'per_owner', role: 'admin' },
      kind: 'device',
      name: 'Old Firefox',
      scopes: allScopes,
    })
    const machine = await ask('/api/me', { headers: { authorization: `Bearer ${token}` } })
    expect(machine.body).toMatchObject({ kind: 'token', name: 'this machine', scopes: allScopes })
  },
)

it.each(stores)(
  'a browser that signed in before keys had ids learns the id with its access token, and signs with it, on %s',
  async (_, storeBrowser) => {
    await using server = await serverWith(storeBrowser)
    const { ask, device, parley } = server
    const { body } = await device.redeem(device.signed(await device.nonce()))
    const { keyId } = body as { keyId: string }
    const { id } = await parley.host.create({
      agent: 'demo',
      cwd: folderForTest(),
      prompt: 'show a permission',
    })
    const sessionId = id
    for await (const event of parley.host.events(id)) {
      if (event.type === 'permission.requested') {
        const { requestId, inputHash } = event
        const decision = {
          commandId: 'answer',
          requestId,
          inputHash,
          decision: 'allow',
          scope: 'once',
        } as const
        const signature = { keyId, value: device.sign(decisionText({ sessionId, ...decision })) }
        const answer = await ask(`/api/sessions/${id}/commands`, {
          headers: { authorization: `Bearer ${body.token}` },
          body: { type: 'permission.decide', ...decision, signature },
        })
        expect(answer.status).toBeLessThan(300)
      }
      if (event.type !== 'permission.resolved') continue
      expect(event.signature).toMatchObject({ keyId })
      break
    }
  },
)
