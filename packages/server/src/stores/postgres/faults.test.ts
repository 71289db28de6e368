import { hasCode, ParleyError } from '@parley/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventsOf, openTurn, receiptOf, stateOf, textBlock } from '../../testing/store-samples.ts'
import { TcpProxy } from '../../testing/tcp-proxy.ts'
import { openPostgresStore, type PostgresStore } from './index.ts'
import { PostgresServer } from './postgres-under-test.ts'
import { postgresMigrations } from './schema.ts'

/** Tests the store when PostgreSQL or the connection to it fails. */

const server = await PostgresServer.forFile()
let proxy: TcpProxy
let direct: string
let url: string
let store: PostgresStore

beforeEach(async () => {
  direct = await server.database()
  proxy = await TcpProxy.open(server.port)
  const proxied = new URL(direct)
  proxied.port = String(proxy.port)
  url = proxied.href
  store = await openPostgresStore({ url, deadlineMs: 3_000, connections: 3 })
  await store.create({
    sessionId: 'a',
    epoch: 'e',
    state: stateOf('a', { turn: openTurn }),
    events: eventsOf('a', 1, 1),
  })
})
afterEach(async () => {
  proxy.resume()
  await store.close()
  await proxy.close()
})

/**
 * Appends as core does: repeats the append while the store rejects with `busy`, because nothing was written then.
 */
async function append(seq: number): Promise<void> {
  const batch = { sessionId: 'a', events: eventsOf('a', seq, 1), receipt: receiptOf(`c${seq}`, seq) }
  for (;;) {
    try {
      return await store.append(batch)
    } catch (thrown) {
      if (!hasCode(thrown, 'busy')) throw thrown
    }
  }
}
const stored = () => store.read('a', { limit: 1_000 })

describe('an append', () => {
  it('waits while the connection is half open, and is then stored once', async () => {
    proxy.stall()
    const appending = append(2)
    // The deadline passes several times meanwhile.
    await expect(store.list({ limit: 1 })).rejects.toMatchObject({ code: 'busy' })
    await expect(store.list({ limit: 1 })).rejects.toMatchObject({ code: 'busy' })
    proxy.cut()
    proxy.resume()
    await appending
    await append(3)
    expect(await stored()).toEqual(eventsOf('a', 1, 3))
  })

  it('is stored once if its answer is lost', async () => {
    for (let seq = 2; seq < 12; seq++) {
      const appending = append(seq)
      // Waits longer each time, so that the statement or its answer is cut off at different moments.
      await new Promise((resolve) => setTimeout(resolve, seq - 2))
      proxy.cut()
      await appending
    }
    expect(await stored()).toEqual(eventsOf('a', 1, 11))
    for (let seq = 2; seq < 12; seq++) expect(await store.receipt('a', `c${seq}`)).toBeDefined()
  })

  it('is stored once if the server ends its connections', async () => {
    const appending = (async () => {
      for (let seq = 2; seq < 40; seq++) await append(seq)
    })()
    for (let kills = 0; kills < 10; kills++) {
      await server.admin(
        (sql) =>
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'`,
      )
    }
    await appending
    expect(await stored()).toEqual(eventsOf('a', 1, 39))
  })

  it('works again after a restart and after a crash of the server', async () => {
    for (const [index, signal] of (['SIGINT', 'SIGQUIT'] as const).entries()) {
      await server.stop(signal)
      const appending = append(2 + index)
      await expect(store.load('a')).rejects.toMatchObject({ code: 'busy' })
      await server.start()
      await appending
    }
    expect(await stored()).toEqual(eventsOf('a', 1, 3))
  })

  it('replaces checkpoints correctly after a failure', async () => {
    await store.checkpoint('a', [textBlock('b', 'one')])
    await server.stop()
    await expect(store.checkpoint('a', [textBlock('b', 'one two')])).rejects.toMatchObject({ code: 'busy' })
    await server.start()
    await store.checkpoint('a', [textBlock('b', 'one two three')])
    expect(await store.checkpoints('a')).toEqual([textBlock('b', 'one two three')])
  })

  it('writes whole checkpoints again after a crash has undone the last ones', async () => {
    await store.checkpoint('a', [textBlock('b', 'one')])
    await store.checkpoint('a', [textBlock('b', 'one two')])
    await server.admin((sql) => sql`DELETE FROM parley.checkpoints WHERE part = 1`, direct)
    proxy.cut()
    await expect
      .poll(() => store.checkpoint('a', [textBlock('b', 'one two three')]).then(Boolean, () => true))
      .toBe(true)
    await store.checkpoint('a', [textBlock('b', 'one two three four')])
    expect(await store.checkpoints('a')).toEqual([textBlock('b', 'one two three four')])
  })
})

describe('the connections', () => {
  it('are shared by more statements than there are connections', async () => {
    const reads = Array.from({ length: 200 }, () => store.load('a'))
    expect(await Promise.all(reads)).toHaveLength(200)
  })

  it('report a server without a free connection, and work again when it has one', async () => {
    const name = new URL(direct).pathname.slice(1)
    const limit = (count: number) =>
      server.admin((sql) => sql.unsafe(`ALTER ROLE guest CONNECTION LIMIT ${count}`))
    await server.admin(async (sql) => {
      await sql.unsafe('CREATE ROLE guest LOGIN CONNECTION LIMIT 1')
      await sql.unsafe(`GRANT CREATE ON DATABASE ${name} TO guest`)
    })
    const address = new URL(direct)
    address.username = 'guest'
    await using guest = disposable(
      await openPostgresStore({ url: address.href, schema: 'guest', connections: 4 }),
    )
    const load = () => Promise.allSettled(Array.from({ length: 8 }, () => guest.load('a')))
    const refused = (await load()).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    for (const reason of refused) expect(reason).toMatchObject({ code: 'busy' })
    expect(refused.length).toBeGreaterThan(0)
    await limit(10)
    expect((await load()).map(({ status }) => status)).not.toContain('rejected')
  })
})

function disposable(opened: PostgresStore): PostgresStore & AsyncDisposable {
  return { ...opened, [Symbol.asyncDispose]: () => opened.close() }
}

describe('opening', () => {
  const refusal = (changes: (address: URL) => void) => {
    const address = new URL(direct)
    changes(address)
    return openPostgresStore({ url: address.href, deadlineMs: 3_000 }).catch((thrown: unknown) => thrown)
  }

  it('is refused with an error that contains neither the address nor the password', async () => {
    const refusals = await Promise.all([
      refusal((address) => {
        address.port = '1'
        address.password = 'secret-word'
      }),
      refusal((address) => {
        address.pathname = '/no-such-database'
        address.password = 'secret-word'
      }),
      refusal((address) => {
        address.username = 'no-such-user'
        address.password = 'secret-word'
      }),
    ])
    for (const refused of refusals) {
      expect(refused).toBeInstanceOf(ParleyError)
      expect(JSON.stringify(refused) + String(refused) + String((refused as Error).cause)).not.toMatch(
        /secret-word|127\.0\.0\.1/,
      )
    }
    expect(refusals.map((refused) => (refused as ParleyError).code)).toEqual([
      'busy',
      'internal_error',
      'internal_error',
    ])
  })

  it('refuses a newer schema and changes nothing', async () => {
    const newer = [{ version: 99, sql: 'CREATE TABLE later (id integer)' }]
    await (await openPostgresStore({ url: direct, migrations: newer })).close()
    await expect(openPostgresStore({ url: direct })).rejects.toMatchObject({
      code: 'conflict',
      details: { version: 99, known: postgresMigrations.length },
    })
  })

  it('waits for a migration that takes longer than the statement timeout', async () => {
    const slow = [{ version: 2, sql: 'SELECT pg_sleep(1); CREATE TABLE later (id integer)' }]
    const migrated = await openPostgresStore({
      url: direct,
      migrations: slow,
      deadlineMs: 400,
      schema: 'slow',
    })
    await migrated.close()
    const tables = await server.admin((sql) => sql`SELECT to_regclass('slow.later') AS later`, direct)
    expect(tables[0]?.later).not.toBeNull()
  })

  it('by several processes at once creates the schema once', async () => {
    const fresh = await server.database()
    const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgresStore({ url: fresh })))
    await stores[0]?.trustFolder({ folder: '/w', trustedAt: 1 })
    for (const one of stores) expect(await one.trustedFolders()).toHaveLength(1)
    await Promise.all(stores.map((one) => one.close()))
  })
})
