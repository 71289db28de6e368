import { join, resolve } from 'node:path'
import { defined, ParleyError } from '@parley/protocol'
import type { AgentSettings } from '../adapters/agent-settings.ts'
import type { AlertSettings } from '../alerts/index.ts'
import type { Limits } from '../core/index.ts'
import type { ChatDefaults } from '../faces/chat/index.ts'
import type { DecideByLink, DecideFrom } from '../faces/http/authentication.ts'
import type { OidcSettings } from '../faces/http/oidc/settings.ts'
import { shortestToken } from '../faces/http/token-length.ts'
import type { TelemetryOptions } from '../telemetry/index.ts'
import {
  type ConfigFile,
  decideByLinkValues,
  decideFromValues,
  type LogLevel,
  logLevels,
} from './config-file.ts'
import { parseAge } from './durations.ts'
import { type ReachFlags, type ReachSettings, resolveReach } from './reach-settings.ts'

/** The options of a command as they were typed. */
export type Flags = ReachFlags & {
  readonly host?: string
  readonly port?: string
  readonly dataDir?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly logLevel?: string
  readonly verbose?: boolean
  readonly databaseUrl?: string
  readonly nodeUrl?: string
  readonly place?: string
  readonly decideFrom?: string
  readonly decideByLink?: string
}

export type Configuration = ReachSettings & {
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** An explicit token and its source. Without an explicit token, the token file in the data folder is used. */
  readonly token?: { readonly value: string; readonly from: string }
  readonly logLevel?: LogLevel
  /** The PostgreSQL database that makes this server a node. It may contain a password. Without it, SQLite is used. */
  readonly databaseUrl?: string
  /** The URL at which other nodes reach this server. By default, the address on which it listens. */
  readonly nodeUrl?: string
  readonly place?: string
  readonly decideFrom?: DecideFrom
  readonly decideByLink?: DecideByLink
  readonly oidc?: OidcSettings
  readonly limits: Partial<Limits>
  readonly agents: Readonly<Record<string, AgentSettings>>
  /** Modules with adapters, which only config.json can name. Absent if there are none. */
  readonly adapterModules?: readonly AdapterModule[]
  readonly chat: ChatDefaults
  readonly telemetry: Pick<TelemetryOptions, 'content' | 'openTelemetry'>
  readonly alerts: AlertSettings
  /** Absent if sessions are kept until somebody archives or deletes them. */
  readonly retention?: RetentionTimes
}

/** The times without use, in milliseconds, after which sessions are archived and deleted. */
export type RetentionTimes = { readonly archiveAfter?: number; readonly deleteAfter?: number }

/** A module that config.json names, and the options for its adapter. */
export type AdapterModule = {
  readonly module: string
  readonly options: Readonly<Record<string, unknown>>
}

export type ConfigurationSources = {
  readonly flags: Flags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The base of relative paths. */
  readonly cwd: string
  readonly readConfig: (file: string) => ConfigFile
  /** Reads a file that contains the token. `from` names the setting with the path, for error messages. */
  readonly readToken: (file: string, from: string) => string
}

export const defaultHost = '127.0.0.1'
export const defaultPort = 4747

/**
 * Combines the settings of a command. Flags take precedence over the environment, the environment over config.json,
 * and config.json over defaults. Pure except for reading files.
 */
export function resolveConfiguration(sources: ConfigurationSources): Configuration {
  const { flags, env, home, cwd } = sources
  const given = flags.dataDir ?? said(env.PARLEY_DATA_DIR)
  if (given === '') throw refusal('--data-dir takes the path of a folder.')
  const dataDir = given === undefined ? defaultDataDir(home) : resolve(cwd, given)
  const file = configFile(dataDir)
  const config = sources.readConfig(file)

  const port = first<string | number>(
    ['--port', flags.port],
    ['PARLEY_PORT', said(env.PARLEY_PORT)],
    [file, config.port],
  )
  const host = first(['--host', flags.host], ['PARLEY_HOST', said(env.PARLEY_HOST)], [file, config.host])
  const tokenIn = (from: string, path: string | undefined) =>
    [from, path === undefined ? undefined : sources.readToken(resolve(cwd, path), from)] as const
  const token =
    first(['--token', flags.token]) ??
    first(tokenIn('--token-file', flags.tokenFile), ['PARLEY_TOKEN', said(env.PARLEY_TOKEN)]) ??
    first(tokenIn('PARLEY_TOKEN_FILE', said(env.PARLEY_TOKEN_FILE)), [file, config.token])
  const logLevel = first(
    ['--log-level', flags.logLevel ?? (flags.verbose ? 'debug' : undefined)],
    ['PARLEY_LOG_LEVEL', said(env.PARLEY_LOG_LEVEL)],
    [file, config.logLevel],
  )
  const databaseUrl = first(
    ['--database-url', flags.databaseUrl],
    ['PARLEY_DATABASE_URL', said(env.PARLEY_DATABASE_URL)],
    [file, config.databaseUrl],
  )
  const nodeUrl = first(
    ['--node-url', flags.nodeUrl],
    ['PARLEY_NODE_URL', said(env.PARLEY_NODE_URL)],
    [file, config.nodeUrl],
  )
  const place = first(
    ['--place', flags.place],
    ['PARLEY_PLACE', said(env.PARLEY_PLACE)],
    [file, config.place],
  )
  return {
    ...resolveReach({ flags, env, cwd, config, file }),
    dataDir,
    host: host?.value ?? defaultHost,
    port: port ? portOf(port.value, port.from) : defaultPort,
    ...(token && { token: checkedToken(token) }),
    ...(logLevel && { logLevel: oneOf(logLevels, logLevel) }),
    ...(databaseUrl && { databaseUrl: databaseUrlOf(databaseUrl) }),
    ...(nodeUrl && { nodeUrl: nodeUrlOf(nodeUrl) }),
    ...(place && { place: placeOf(place) }),
    ...accessSettings(sources, { config, file, dataDir }),
    limits: defined(config.limits ?? {}),
    agents: agentSettings(config.agents),
    ...adapterModulesOf(config.adapters),
    chat: defined(config.chat ?? {}),
    telemetry: defined(config.telemetry ?? {}),
    alerts: config.alerts ?? {},
    ...retentionOf(config.retention),
  }
}

function retentionOf({ archiveAfter, deleteAfter }: ConfigFile['retention'] = {}) {
  if (archiveAfter === undefined && deleteAfter === undefined) return {}
  return { retention: defined({ archiveAfter: ageOf(archiveAfter), deleteAfter: ageOf(deleteAfter) }) }
}

const ageOf = (age: string | undefined) => (age === undefined ? undefined : parseAge(age, 'An age'))

function accessSettings(
  { flags, env }: Pick<ConfigurationSources, 'flags' | 'env'>,
  { config, file, dataDir }: { config: ConfigFile; file: string; dataDir: string },
): Pick<Configuration, 'decideFrom' | 'decideByLink' | 'oidc'> {
  const decideFrom = first(
    ['--decide-from', flags.decideFrom],
    ['PARLEY_DECIDE_FROM', said(env.PARLEY_DECIDE_FROM)],
    [file, config.decideFrom],
  )
  const decideByLink = first(
    ['--decide-by-link', flags.decideByLink],
    ['PARLEY_DECIDE_BY_LINK', said(env.PARLEY_DECIDE_BY_LINK)],
    [file, config.decideByLink],
  )
  return {
    ...(decideFrom && { decideFrom: oneOf(decideFromValues, decideFrom) }),
    ...(decideByLink && { decideByLink: oneOf(decideByLinkValues, decideByLink) }),
    ...(config.oidc && { oidc: oidcOf(config.oidc, dataDir) }),
  }
}

export function defaultDataDir(home: string): string {
  return join(home, '.parley')
}

export function configFile(dataDir: string): string {
  return join(dataDir, 'config.json')
}

export function agentsFolder(dataDir: string): string {
  return join(dataDir, 'agents')
}

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'parley.sqlite')
}

/** The folder into which people install packages with adapters. `adapters` in config.json names the packages. */
export function adaptersFolder(dataDir: string): string {
  return join(dataDir, 'adapters')
}

/** The index of the search. It is built again if it is deleted. */
export function searchFile(dataDir: string): string {
  return join(dataDir, 'search.sqlite')
}

/** The path of the file with the database URL of a node, without the password. */
export function nodeFile(dataDir: string): string {
  return join(dataDir, 'node')
}

type Given<Value> = { readonly value: Value; readonly from: string }

function first<Value>(...given: readonly (readonly [string, Value | undefined])[]): Given<Value> | undefined {
  for (const [from, value] of given) if (value !== undefined) return { from, value }
  return undefined
}

/** Returns the value of a variable. An empty variable counts as not set. */
function said(variable: string | undefined): string | undefined {
  return variable === '' ? undefined : variable
}

/** Returns the URL if it is valid. The error does not repeat the value, which may contain a password. */
function databaseUrlOf({ value, from }: Given<string>): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && /^postgres(ql)?:$/.test(url.protocol) && /^\/./.test(url.pathname)) return value
  throw refusal(
    `${from} takes the URL of a PostgreSQL database, as in postgres://user@host:5432/database. Several hosts are not supported.`,
  )
}

function nodeUrlOf({ value, from }: Given<string>): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw refusal(`${from} takes a URL such as http://10.0.0.1:4747, without a path, a user or a password.`)
}

/** Returns the place with the prefix `machine:`, as it is stored in sessions. */
function placeOf({ value, from }: Given<string>): string {
  if (value.startsWith('volume:'))
    throw refusal(`${from} takes the name of a machine. Names that start with "volume:" are not supported.`)
  const name = value.replace(/^machine:/, '')
  if (/^[\w.-]{1,64}$/.test(name)) return `machine:${name}`
  throw refusal(`${from} takes a name of up to 64 letters, digits, dots, dashes and underscores.`)
}

function oneOf<Value extends string>(values: readonly Value[], { value, from }: Given<string>): Value {
  const known = values.find((one) => one === value)
  if (known !== undefined) return known
  throw refusal(`${from} takes one of ${values.join(', ')}, not "${value}".`)
}

/** A path in the configuration is relative to the data folder. */
function oidcOf(
  { clientSecretFile, ...rest }: NonNullable<ConfigFile['oidc']>,
  dataDir: string,
): OidcSettings {
  const file = clientSecretFile && resolve(dataDir, clientSecretFile)
  return defined({ ...rest, clientSecretFile: file })
}

function portOf(value: string | number, from: string): number {
  const port = typeof value === 'number' ? value : /^\d{1,5}$/.test(value) ? Number(value) : -1
  if (port >= 0 && port <= 65_535) return port
  throw refusal(`${from} takes a port from 0 to 65535 (0 picks a free one), not "${value}".`)
}

function checkedToken(token: Given<string>): Given<string> {
  if (!/^[\x21-\x7e]+$/.test(token.value)) {
    throw refusal(`The token of ${token.from} must consist of printable ASCII characters without spaces.`)
  }
  if (token.value.length >= shortestToken) return token
  throw refusal(
    `The token of ${token.from} is too short: anybody who guesses it can run commands as you. Use at least ${shortestToken} characters, such as those of \`openssl rand -hex 24\`, or leave it out.`,
  )
}

export function agentSettings(agents: ConfigFile['agents']): Readonly<Record<string, AgentSettings>> {
  const entries = Object.entries(agents ?? {}).map(([id, settings]) => {
    const { command, disabled, ...rest } = settings
    return [id, defined({ ...rest, executable: command, disabled: disabled || undefined })]
  })
  return Object.fromEntries(entries)
}

function adapterModulesOf(adapters: ConfigFile['adapters'] = []): Pick<Configuration, 'adapterModules'> {
  if (adapters.length === 0) return {}
  const modules = adapters.map((one) => (typeof one === 'string' ? { module: one } : one))
  return { adapterModules: modules.map(({ module, options = {} }) => ({ module, options })) }
}

function refusal(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
