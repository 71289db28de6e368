import { chmodSync, writeFileSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'
import { describe, expect, it, vi } from 'vitest'
import { CertificateAuthority } from '../../testing/certificate-authority.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { PostgresDatabase } from './database.ts'
import { parseDatabaseUrl } from './database-url.ts'
import { PostgresServer } from './postgres-under-test.ts'
import { encryptionsOf } from './tls.ts'

const folder = folderForFile()
const authority = new CertificateAuthority(folder)
const path = (name: string) => authority.path(name)
const text = (name: string) => authority.text(name)
new CertificateAuthority(folder, 'other')
authority.issue('server', 'subjectAltName=DNS:localhost')
authority.issue('parley', 'extendedKeyUsage=clientAuth')

const server = await PostgresServer.forFile({
  settings: ['ssl=on', 'ssl_cert_file=server.crt', 'ssl_key_file=server.key', 'ssl_ca_file=ca.crt'],
  files: {
    'server.crt': text('server.crt'),
    'server.key': text('server.key'),
    'ca.crt': text('ca.crt'),
    // TYPE, DATABASE, USER, ADDRESS, METHOD
    'pg_hba.conf': `
      hostssl   only_tls    all 127.0.0.1/32 trust
      host      only_tls    all 127.0.0.1/32 reject
      hostnossl only_plain  all 127.0.0.1/32 trust
      host      only_plain  all 127.0.0.1/32 reject
      hostssl   certificate all 127.0.0.1/32 cert
      host      all         all 127.0.0.1/32 trust
    `,
  },
})
for (const name of ['only_tls', 'only_plain', 'certificate'])
  await server.admin((sql) => sql.unsafe(`CREATE DATABASE ${name}`))

type Connection = { readonly host?: string; readonly database?: string }

const urlOf = (parameters: Record<string, string>, connection: Connection = {}) => {
  const { host = '127.0.0.1', database = 'postgres' } = connection
  return `postgres://parley@${host}:${server.port}/${database}?${new URLSearchParams(parameters)}`
}

/** True if a connection with these parameters is encrypted. */
async function isEncrypted(parameters: Record<string, string>, connection?: Connection): Promise<boolean> {
  const database = await PostgresDatabase.open({ url: urlOf(parameters, connection), connections: 1 })
  try {
    const [row] = await database.query<{ ssl: boolean }>(
      'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    )
    return row?.ssl ?? false
  } finally {
    await database.close()
  }
}

async function refusal(parameters: Record<string, string>, connection?: Connection): Promise<ParleyError> {
  const thrown = await isEncrypted(parameters, connection).catch((error: unknown) => error)
  if (thrown instanceof ParleyError) return thrown
  throw new Error(`was not refused: ${thrown}`)
}

const ca = path('ca.crt')
const otherCa = path('other.crt')
const right = { host: 'localhost' }
const wrong = { host: '127.0.0.1' }

describe('a connection to PostgreSQL', () => {
  it.each([
    ['disable', false],
    ['allow', false],
    ['prefer', true],
    ['require', true],
  ])('with sslmode=%s is encrypted: %s', async (sslmode, expected) => {
    expect(await isEncrypted({ sslmode })).toBe(expected)
  })

  it('without sslmode is encrypted if the server offers TLS', async () => {
    expect(await isEncrypted({})).toBe(true)
  })

  it('with sslmode=allow or prefer falls back if the server refuses the preferred kind', async () => {
    expect(await isEncrypted({ sslmode: 'allow' }, { database: 'only_tls' })).toBe(true)
    expect(await isEncrypted({ sslmode: 'prefer' }, { database: 'only_plain' })).toBe(false)
    const { message } = await refusal({ sslmode: 'require' }, { database: 'only_plain' })
    expect(message).toContain('refuses access (28000)')
    expect((await refusal({ sslmode: 'disable' }, { database: 'only_tls' })).message).toContain('28000')
  })

  it('with sslmode=verify-ca checks the authority, but not the host name', async () => {
    expect(await isEncrypted({ sslmode: 'verify-ca', sslrootcert: ca }, wrong)).toBe(true)
    const { message } = await refusal({ sslmode: 'verify-ca', sslrootcert: otherCa }, right)
    expect(message).toContain('was not signed by an authority in sslrootcert')
  })

  it('with sslmode=verify-full checks both', async () => {
    const full = { sslmode: 'verify-full', sslrootcert: ca }
    expect(await isEncrypted(full, right)).toBe(true)
    expect((await refusal(full, wrong)).message).toContain('is not for the host name')
    const { message } = await refusal({ ...full, sslrootcert: otherCa }, right)
    expect(message).toContain('was not signed by an authority in sslrootcert')
  })

  it('with sslmode=require checks the authority if one is given, as libpq does', async () => {
    expect(await isEncrypted({ sslmode: 'require', sslrootcert: ca }, wrong)).toBe(true)
    expect((await refusal({ sslmode: 'require', sslrootcert: otherCa })).message).toContain('was not signed')
  })

  it('is verified even if the environment turns off certificate verification', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const { message } = await refusal({ sslmode: 'verify-full', sslrootcert: otherCa }, right)
    expect(message).toContain('was not signed')
    expect((await refusal({ sslmode: 'verify-full', sslrootcert: ca }, wrong)).message).toContain('host name')
  })

  it('does not trust the authorities of Node unless the URL names those of the system', async () => {
    vi.stubEnv('HOME', folder)
    const { code, message } = await refusal({ sslmode: 'verify-full' }, right)
    expect(code).toBe('validation_error')
    expect(message).toContain('sslrootcert=system')
    expect((await refusal({ sslrootcert: 'system' }, right)).message).toContain('was not signed')
  })

  it('can authenticate with a client certificate', async () => {
    const client = { sslmode: 'verify-ca', sslrootcert: ca, sslcert: path('parley.crt') }
    const database = { database: 'certificate' }
    expect(await isEncrypted({ ...client, sslkey: path('parley.key') }, database)).toBe(true)
    expect((await refusal({ sslmode: 'require' }, database)).message).toContain('refuses access (28000)')
    const exposed = path('exposed.key')
    writeFileSync(exposed, text('parley.key'))
    chmodSync(exposed, 0o644)
    const { message } = await refusal({ ...client, sslkey: exposed }, database)
    expect(message).toContain(`chmod 600 ${exposed}`)
  })

  it('is refused if a file of the URL is missing or is not a PEM file, and the error names the file', async () => {
    for (const sslrootcert of [path('missing.crt'), path('server.ext')]) {
      const { code, message } = await refusal({ sslmode: 'verify-ca', sslrootcert })
      expect(code).toBe('validation_error')
      expect(message).toContain(sslrootcert)
    }
  })
})

it('a server without TLS is refused if the URL asks for TLS', async () => {
  await using plain = await PostgresServer.open({ settings: ['ssl=off'], files: {} })
  const url = (sslmode: string) => `postgres://parley@127.0.0.1:${plain.port}/postgres?sslmode=${sslmode}`
  const open = (sslmode: string) => PostgresDatabase.open({ url: url(sslmode), connections: 1 })
  await expect(open('require')).rejects.toMatchObject({
    code: 'not_supported',
    message: expect.stringContaining('PostgreSQL offers no TLS, but sslmode=require'),
  })
  for (const sslmode of ['allow', 'prefer', 'disable']) await (await open(sslmode)).close()
})

it('an IP address in the URL must be in the certificate', () => {
  const tls = `sslmode=verify-full&sslrootcert=${ca}`
  const [encryption] = encryptionsOf(parseDatabaseUrl(`postgres://[::1]/x?${tls}`))
  if (typeof encryption !== 'object') throw new Error('not encrypted')
  const check = (subjectaltname: string) =>
    encryption.checkServerIdentity?.('localhost', { subject: { CN: '::1' }, subjectaltname } as never)
  expect(check('IP Address:0:0:0:0:0:0:0:1')).toBeUndefined()
  expect(check('IP Address:127.0.0.1, DNS:localhost')).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
})
