import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { allScopes, newId } from '@parley/protocol'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { startParley } from '../cli/start.ts'
import { migrations } from '../stores/migrations/index.ts'
import { openSqliteDatabase } from '../stores/sqlite-database.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { deviceUnderTest } from './http/device-under-test.ts'
import type { Answer, Asked } from './http/server-under-test.ts'

it('a browser that signed in before there were people keeps all rights, and belongs to the owner', async () => {
  const dataDir = join(folderForTest(), 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  const file = join(dataDir, 'parley.sqlite')
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
  const old = openSqliteDatabase({ file, migrations: migrations.filter(({ version }) => version < 7) })
  old
    .prepare('INSERT INTO devices (id, name, public_key, created_at, last_seen_at) VALUES (?, ?, ?, 1, 2)')
    .run(deviceId, 'Old Firefox', device.publicKey)
  old.close()

  const token = 'the-token-of-this-machine'
  const logger = pino({ level: 'silent' })
  await using parley = await start({ dataDir, token, logger })
  const me = await ask('/api/me', { headers: { authorization: `Bearer ${await device.token()}` } })
  expect(me.body).toMatchObject({
    person: { personId: 'per_owner', role: 'admin' },
    kind: 'device',
    name: 'Old Firefox',
    scopes: allScopes,
  })
  const machine = await ask('/api/me', { headers: { authorization: `Bearer ${token}` } })
  expect(machine.body).toMatchObject({ kind: 'token', name: 'this machine', scopes: allScopes })
})

async function start(options: Pick<Parameters<typeof startParley>[0], 'dataDir' | 'token' | 'logger'>) {
  const parley = await startParley({ ...options, hostname: '127.0.0.1', port: 0 })
  return { ...parley, [Symbol.asyncDispose]: () => parley.close() }
}
