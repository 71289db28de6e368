import { ParleyError } from '@parley/protocol'

/** The parts of the URL of a database. */
export type DatabaseAddress = {
  /** A host name or an IP address; the folder of a Unix-domain socket if it begins with a slash. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** Empty if the URL names no user. Then the user who runs this process is used. */
  readonly user: string
  /** Empty if the URL has no password. Then PGPASSWORD is used. */
  readonly password: string
  readonly tls: TlsParameters
}

export const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
export type SslMode = (typeof sslModes)[number]

/** The parameters of libpq with these names. Files are given as paths; `sslrootcert` may also be `system`. */
export type TlsParameters = {
  readonly sslmode: SslMode
  readonly sslrootcert?: string
  readonly sslcert?: string
  readonly sslkey?: string
}

const known = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const
/**
 * Parameters of libpq that are not supported. Error messages name only these: any other name may be part of a password.
 */
const unsupported =
  /^(application_name|channel_binding|client_encoding|connect_timeout|dbname|gssencmode|hostaddr|keepalives|keepalives_\w+|load_balance_hosts|options|passfile|password|port|require_auth|service|ssl|sslcompression|sslcrl|sslcrldir|sslnegotiation|sslpassword|ssl_m\w+_protocol_version|target_session_attrs|tcp_user_timeout|user)$/
const example = 'postgres://user@host:5432/database'

/**
 * Reads the URL of a database. Throws a ParleyError that does not repeat any value of the URL, since all of them could
 * be mistyped parts of a password.
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  // A URL with several hosts and ports cannot be parsed, so this case is checked first. A password may contain a comma.
  const [, authority = ''] = /^[a-z]+:\/\/([^/?#]*)/.exec(text) ?? []
  if (authority.split('@').at(-1)?.includes(',')) throw severalHosts()
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^postgres(ql)?:$/.test(url.protocol))
    throw refusal(
      `The database URL is not valid. Use the form ${example}, with special characters of the password written as %XX.`,
    )
  const given = parametersOf(url)
  const host = given.host ?? decoded(url.hostname, 'host').replace(/^\[(.*)\]$/, '$1')
  if (host.includes(',')) throw severalHosts()
  if (host === '') throw refusal(`The database URL must name a host, as in ${example}.`)
  const database = decoded(url.pathname.slice(1), 'database')
  if (database === '') throw refusal(`The database URL must name a database, as in ${example}.`)
  return {
    host,
    port: Number(url.port || 5432),
    database,
    user: decoded(url.username, 'user'),
    password: decoded(url.password, 'password'),
    tls: tlsOf(given),
  }
}

/** The URL without password and parameters, for people: `postgres://user@host:port/database`. */
export function shownDatabaseUrl(text: string): string {
  let address: DatabaseAddress
  try {
    address = parseDatabaseUrl(text)
  } catch {
    return 'postgres://…'
  }
  const { host, port, database, user } = address
  const name = user && `${encodeURIComponent(user)}@`
  const server = host.includes(':') ? `[${host}]` : host.startsWith('/') ? encodeURIComponent(host) : host
  return `postgres://${name}${server}:${port}/${encodeURIComponent(database)}`
}

type Parameters = Partial<Record<(typeof known)[number], string>>

function parametersOf(url: URL): Parameters {
  const given: Parameters = {}
  for (const [name, value] of url.searchParams) {
    const parameter = known.find((one) => one === name)
    if (!parameter) {
      const which = unsupported.test(name)
        ? `the parameter "${name}", which is not supported`
        : 'an unknown parameter'
      throw refusal(`The database URL has ${which}. Known parameters: ${known.join(', ')}.`)
    }
    if (given[parameter] !== undefined)
      throw refusal(`The database URL has the parameter "${parameter}" twice.`)
    given[parameter] = value
  }
  return given
}

function tlsOf({ sslmode, sslrootcert, sslcert, sslkey }: Parameters): TlsParameters {
  // As in libpq, `system` implies `verify-full`: anybody can get a certificate from a public CA.
  const usual = sslrootcert === 'system' ? 'verify-full' : 'prefer'
  const mode = sslModes.find((one) => one === (sslmode ?? usual))
  if (!mode) throw refusal(`sslmode of the database URL must be one of ${sslModes.join(', ')}.`)
  if (sslrootcert === 'system' && mode !== 'verify-full')
    throw refusal('sslrootcert=system of the database URL needs sslmode=verify-full.')
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw refusal('The database URL must have both sslcert and sslkey, or neither.')
  return {
    sslmode: mode,
    ...(sslrootcert && { sslrootcert }),
    ...(sslcert && { sslcert }),
    ...(sslkey && { sslkey }),
  }
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refusal(`The ${part} in the database URL has a % that is not followed by two hexadecimal digits.`)
  }
}

function severalHosts(): ParleyError {
  return refusal(
    `The database URL names several hosts, which is not supported. Name one, as in ${example}: an address that leads to the primary.`,
  )
}

function refusal(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
