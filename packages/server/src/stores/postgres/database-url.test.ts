import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { parseDatabaseUrl, shownDatabaseUrl } from './database-url.ts'

const refusalOf = (url: string): ParleyError => {
  try {
    parseDatabaseUrl(url)
  } catch (thrown) {
    if (thrown instanceof ParleyError) return thrown
    throw thrown
  }
  throw new Error('was not refused')
}

describe('a database URL', () => {
  it.each([
    ['postgres://ada:p%40ss@db.example:6000/main', 'db.example', 6000, 'main', 'ada', 'p@ss'],
    ['postgresql://db/main', 'db', 5432, 'main', '', ''],
    ['postgres://ada@[::1]:6000/main', '::1', 6000, 'main', 'ada', ''],
    ['postgres://ada@localhost/main?host=/run/postgresql', '/run/postgresql', 5432, 'main', 'ada', ''],
    ['postgres:///main?host=/run/postgresql', '/run/postgresql', 5432, 'main', '', ''],
    ['postgres://ada@%2Frun%2Fpostgresql/main', '/run/postgresql', 5432, 'main', 'ada', ''],
    ['postgres://a%3Ab:x%2Fy@db/with%20space', 'db', 5432, 'with space', 'a:b', 'x/y'],
  ])('is read: %s', (url, host, port, database, user, password) => {
    expect(parseDatabaseUrl(url)).toEqual({
      host,
      port,
      database,
      user,
      password,
      tls: { sslmode: 'prefer' },
    })
  })

  it('supports the TLS parameters of libpq', () => {
    const files = { sslrootcert: '/ca.crt', sslcert: '/me.crt', sslkey: '/me.key' }
    const query = new URLSearchParams({ sslmode: 'verify-ca', ...files })
    expect(parseDatabaseUrl(`postgres://db/x?${query}`).tls).toEqual({ sslmode: 'verify-ca', ...files })
    expect(parseDatabaseUrl('postgres://db/x?sslrootcert=system').tls).toEqual({
      sslmode: 'verify-full',
      sslrootcert: 'system',
    })
  })

  it.each([
    'geheim',
    'http://ada:geheim@db/x',
    'postgres://ada:geheim@db',
    'postgres://ada:geheim@/x',
    'postgres://ada:ge%zzheim@db/x',
    'postgres://ada:geheim#@db/x',
    'postgres://ada:geheim@one,two/x',
    'postgres://ada:geheim@db/x?sslmode=geheim',
    'postgres://ada:geheim@db/x?geheim=1',
    'postgres://ada:geheim@db/x?options=geheim',
    'postgres://ada:1?geheim',
    'postgres://ada:1?geheim@db/x',
    'postgres://ada:geheim@db/x?sslmode=require&sslmode=disable',
    'postgres://ada:geheim@db/x?sslcert=geheim',
    'postgres://ada:geheim@db/x?sslrootcert=system&sslmode=require',
  ])('is refused with an error that contains none of its values: %s', (url) => {
    const { code, message, details, cause } = refusalOf(url)
    expect(code).toBe('validation_error')
    expect(JSON.stringify([message, details, cause])).not.toContain('geheim')
  })

  it.each(['postgres://ada:p@one,two/x', 'postgres://one:5432,two:5433/x', 'postgres://db/x?host=one,two'])(
    'is refused because it names several hosts: %s',
    (url) => expect(refusalOf(url).message).toContain('several hosts'),
  )

  it('with an unsupported parameter of libpq is refused with the name of that parameter', () => {
    expect(refusalOf('postgres://db/x?channel_binding=require').message).toContain('"channel_binding"')
  })
})

it.each([
  ['postgres://ada:geheim@db.example/main?sslmode=require', 'postgres://ada@db.example:5432/main'],
  ['postgres://ada:geheim@[::1]:6000/main', 'postgres://ada@[::1]:6000/main'],
  ['postgres://ada:geheim@x/main?host=/run', 'postgres://ada@%2Frun:5432/main'],
  ['postgres://:geheim@db/main', 'postgres://db:5432/main'],
  ['postgres://ada:geheim@db/main?password=geheim', 'postgres://…'],
  ['geheim', 'postgres://…'],
])('%s is shown without its password', (url, shown) => {
  expect(shownDatabaseUrl(url)).toBe(shown)
})
