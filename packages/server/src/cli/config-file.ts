import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ParleyError, PermissionMode } from '@parley/protocol'
import { z } from 'zod'
import type { Limits } from '../core/index.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const count = z.int().min(0).optional()
const atLeastOne = z.int().min(1).optional()

const limits = {
  maxConnections: atLeastOne,
  maxSpares: count,
  spareMs: atLeastOne,
  spareInFolderMs: atLeastOne,
  spareFreeBytes: count,
  maxQueue: atLeastOne,
  connectMs: atLeastOne,
  asideMs: atLeastOne,
  idleCloseMs: atLeastOne,
  backgroundMs: atLeastOne,
  backgroundTotalMs: atLeastOne,
  ownTurnQuietMs: atLeastOne,
  cancelGraceMs: count,
  stopGraceMs: count,
  parkAfterMs: atLeastOne,
  expireAfterMs: count,
  checkpointMs: atLeastOne,
  setupMs: atLeastOne,
  checkMs: atLeastOne,
  unloadMs: atLeastOne,
} satisfies Record<keyof Limits, z.ZodType>

const agent = {
  name: z.string().min(1).max(100).optional(),
  env: z.record(z.string().regex(/^[a-z_]\w*$/i, 'not the name of a variable'), z.string()).optional(),
  command: z
    .string()
    .regex(/^(\/.+|[^/\s~][^/]*)$/, 'must be an absolute path, or a name on the PATH')
    .optional(),
  args: z.array(z.string()).optional(),
  disabled: z.boolean().optional(),
  userSettings: z.boolean().optional(),
}
export const agentId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must contain only lowercase letters, digits and dashes')

/** A module on this machine. Other specifiers, such as URLs and subpaths of packages, are refused. */
const module = z
  .string()
  .regex(
    /^(\/|\.\.?\/)[^\0]+$|^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/,
    'must be the name of a package, an absolute path, or a path that starts with ./ or ../',
  )
const adapter = z.union(
  [module, z.strictObject({ module, options: z.record(z.string(), z.unknown()).optional() })],
  { error: 'must be a module, or an object with "module" and "options"' },
)

/** Settings of a new chat that its AI SDK page does not send. */
const chat = {
  agent: agentId.optional(),
  cwd: z.string().regex(/^[/~]/, 'must be an absolute path, or start with ~').optional(),
  mode: PermissionMode.optional(),
  model: z.string().min(1).optional(),
}

/** Sign-in with an OpenID provider; `OidcSettings` describes it. */
const oidc = {
  issuer: z.string().min(1),
  clientId: z.string().min(1),
  clientSecretFile: z.string().min(1).optional(),
  name: z.string().min(1).max(50).optional(),
}

export const decideByLinkValues = ['off', 'deny', 'allow'] as const
export const decideFromValues = ['anywhere', 'devices'] as const

/** The options of telemetry; `TelemetryOptions` describes them. */
const telemetry = {
  content: z.boolean().optional(),
  openTelemetry: z.boolean().optional(),
}

/** Settings of alerts; `AlertSettings` describes them. */
const alerts = {
  privateTargets: z.boolean().optional(),
  pushServices: z.array(z.url({ protocol: /^https?$/ }).transform((url) => new URL(url).origin)).optional(),
  contact: z
    .string()
    .regex(/^(https:\/\/|mailto:)./, 'must start with https:// or mailto:')
    .optional(),
  waitMs: z.int().min(0).max(3_600_000).optional(),
}

const age = z
  .string()
  .regex(/^[1-9]\d{0,4}[hd]$/, 'must be a number of hours or days, such as 12h or 30d')
  .optional()

/** The times without use after which a session is archived and deleted. */
const retention = { archiveAfter: age, deleteAfter: age }

/** The keys of `config.json` in the data folder. An unknown key is refused, and the error names it. */
export const ConfigFile = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  token: z.string().min(1).optional(),
  allowRemote: z.boolean().optional(),
  allowOrigins: z.array(z.string().min(1)).optional(),
  allowHosts: z.array(z.string().min(1)).optional(),
  publicUrl: z.string().min(1).optional(),
  tlsCert: z.string().min(1).optional(),
  tlsKey: z.string().min(1).optional(),
  trustProxy: z.array(z.string().min(1)).optional(),
  allowInsecure: z.boolean().optional(),
  logLevel: z.enum(logLevels).optional(),
  databaseUrl: z.string().min(1).optional(),
  nodeUrl: z.string().min(1).optional(),
  place: z.string().min(1).optional(),
  decideFrom: z.enum(decideFromValues).optional(),
  decideByLink: z.enum(decideByLinkValues).optional(),
  oidc: z.strictObject(oidc).optional(),
  limits: z.strictObject(limits).optional(),
  adapters: z.array(adapter).optional(),
  agents: z.record(agentId, z.strictObject(agent)).optional(),
  chat: z.strictObject(chat).optional(),
  telemetry: z.strictObject(telemetry).optional(),
  alerts: z.strictObject(alerts).optional(),
  retention: z.strictObject(retention).optional(),
})
export type ConfigFile = z.infer<typeof ConfigFile>

const knownIn: Readonly<Record<string, object>> = {
  limits,
  agents: agent,
  chat,
  telemetry,
  alerts,
  retention,
  oidc,
}

/**
 * Returns the settings in the file, or none if there is no such file. If the file is invalid, throws a
 * ParleyError that names the file and the key.
 */
export function readConfigFile(file: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return {}
    throw refusal(`${file} cannot be read (${code}). Check its permissions.`, thrown)
  }
  return parseConfigFile(text, file)
}

export function parseConfigFile(text: string, file: string): ConfigFile {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    // The message of JSON.parse quotes the file, which may contain secrets. The quoted part is removed.
    const why = (thrown as Error).message.replace(/,? *(\.{3})?".*/s, '')
    throw refusal(`${file} is not JSON (${why}). Correct it or move it away.`)
  }
  const parsed = ConfigFile.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const path = issue?.path.join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => `"${path ? `${path}.` : ''}${key}"`).join(', ')
    const [part] = issue.path
    const known = Object.keys(knownIn[String(part)] ?? ConfigFile.shape)
    throw refusal(`Unknown in ${file}: ${names}. Known names: ${known.join(', ')}.`, parsed.error)
  }
  const message = issue?.code === 'invalid_key' ? issue.issues[0]?.message : issue?.message
  throw refusal(`${file} is not valid${path ? ` at ${path}` : ''}: ${message}.`, parsed.error)
}

/**
 * Whether the file contains secrets and other users of this machine can read it. A private folder protects the file,
 * unless the file is a symbolic link: then only the mode of its target counts.
 */
export function isConfigExposed(file: string): boolean {
  if (!existsSync(file) || process.platform === 'win32') return false
  const isOpen = (path: string) => (statSync(path).mode & 0o077) !== 0
  if (!isOpen(file) || (!lstatSync(file).isSymbolicLink() && !isOpen(dirname(file)))) return false
  const { token, databaseUrl } = readConfigFile(file)
  return token !== undefined || databaseUrl !== undefined
}

function refusal(message: string, cause?: unknown): ParleyError {
  return new ParleyError('validation_error', message, cause === undefined ? {} : { cause })
}
