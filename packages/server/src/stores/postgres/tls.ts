import { readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls'
import { ParleyError } from '@parley/protocol'
import type { DatabaseAddress, SslMode } from './database-url.ts'

const askMs = 2_000

/** The encryption of a connection: no TLS, TLS if the server offers it, or TLS in any case. */
export type Encryption = false | 'prefer' | ConnectionOptions

/**
 * The ways to connect, in the order in which they are tried, with the meaning that libpq gives to `sslmode`. Reads the
 * files that the URL names. Throws a ParleyError if one of them cannot be used.
 */
export function encryptionsOf({ host, tls }: Pick<DatabaseAddress, 'host' | 'tls'>): readonly Encryption[] {
  const { sslmode } = tls
  if (sslmode === 'disable' || host.startsWith('/')) return [false]
  const client = tls.sslcert !== undefined && {
    cert: pemFile('sslcert', tls.sslcert),
    key: keyFile(tls.sslkey ?? ''),
  }
  if (sslmode === 'allow') return [false, { rejectUnauthorized: false, ...client }]
  if (sslmode === 'prefer') return [client ? { rejectUnauthorized: false, ...client } : 'prefer', false]
  const ca = authorities(tls)
  // As in libpq, `require` checks the certificate if authorities are known.
  if (ca === undefined) return [{ rejectUnauthorized: false, ...client }]
  const identity = sslmode === 'verify-full' ? checkServerIdentity : () => undefined
  // The option is set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED=0 would change the default.
  const checks = {
    rejectUnauthorized: true,
    ca,
    checkServerIdentity: (_: string, cert: Certificate) => identity(host, cert),
  }
  return [{ ...checks, ...client }]
}

type Certificate = Parameters<typeof checkServerIdentity>[1]

/** The authorities that may have signed the certificate of the server. */
function authorities({ sslmode, sslrootcert }: DatabaseAddress['tls']): string | string[] | undefined {
  if (sslrootcert === 'system') return [...getCACertificates('system'), ...getCACertificates('extra')]
  if (sslrootcert !== undefined) return pemFile('sslrootcert', sslrootcert)
  const usual = join(homedir(), '.postgresql', 'root.crt')
  if (statSync(usual, { throwIfNoEntry: false })) return pemFile('sslrootcert', usual)
  if (sslmode === 'require') return undefined
  throw refusal(
    `sslmode=${sslmode} needs the certificate of an authority: add sslrootcert=<file> to the database URL, or sslrootcert=system for the authorities that this machine trusts.`,
  )
}

function pemFile(parameter: string, file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    throw refusal(`The file ${file} (${parameter} of the database URL) cannot be read (${code}).`)
  }
  if (text.includes('-----BEGIN ')) return text
  throw refusal(`The file ${file} (${parameter} of the database URL) is not in the PEM format.`)
}

/** As libpq does, refuses a key that other users can read, unless it belongs to root and a group may read it. */
function keyFile(file: string): string {
  const text = pemFile('sslkey', file)
  const { mode, uid } = statSync(file)
  const isExposed = (mode & (uid === 0 && process.getuid?.() !== 0 ? 0o027 : 0o077)) !== 0
  if (isExposed && process.platform !== 'win32')
    throw refusal(`Other users can read the key ${file} (sslkey of the database URL). Run: chmod 600 ${file}`)
  return text
}

/** True if this failure is a refusal of the encryption, so that the next way to connect is tried. */
export function isEncryptionRefused(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown } | undefined)?.code
  return (
    typeof code === 'string' &&
    (code === '28000' || code === 'ECONNRESET' || code === 'EPROTO' || isTlsFailure(code))
  )
}

const certificateFailures: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of PostgreSQL is not for the host name in the database URL.',
  CERT_HAS_EXPIRED: 'The certificate of PostgreSQL has expired.',
  CERT_NOT_YET_VALID: 'The certificate of PostgreSQL is not valid yet.',
  CERT_REVOKED: 'The certificate of PostgreSQL has been revoked.',
}

/** The reason why a TLS connection failed, for people; undefined for other failures. */
export function tlsFailure(code: string): string | undefined {
  const known = certificateFailures[code]
  if (known !== undefined) return known
  if (/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|INVALID_CA|HOSTNAME_MISMATCH)/.test(code))
    return `The certificate of PostgreSQL was not signed by an authority in sslrootcert (${code}).`
  return isTlsFailure(code) ? `A TLS connection to PostgreSQL failed (${code}).` : undefined
}

function isTlsFailure(code: string): boolean {
  return /^(ERR_SSL_|ERR_TLS_|ERR_OSSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|INVALID_CA)/.test(code)
}

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Asks a server whether it offers TLS. Resolves with undefined if it does not answer. */
export function offersTls(server: {
  readonly host: string
  readonly port: number
}): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    const socket = connect(server, () => socket.write(sslRequest))
    socket.setTimeout(askMs, () => socket.destroy())
    socket.once('data', ([answer]) => {
      resolve(answer === 'S'.charCodeAt(0))
      socket.destroy()
    })
    socket.once('error', () => socket.destroy())
    socket.once('close', () => resolve(undefined))
  })
}

/** The error for a server that offers no TLS, if the URL requires it. */
export function noTls(sslmode: SslMode): ParleyError {
  return new ParleyError(
    'not_supported',
    `PostgreSQL offers no TLS, but sslmode=${sslmode} of the database URL asks for it. Set ssl = on in postgresql.conf, or use another sslmode.`,
  )
}

function refusal(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
