import { createHash } from 'node:crypto'
import { isAbsolute } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { version } from '../../version.ts'

/** The definition of a service, independent of systemd and launchd. */
export type ServicePlan = {
  readonly name: string
  /** The absolute path of Node, then the program and its arguments. */
  readonly command: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  readonly record: ServiceRecord
}

/** Stored in the definition of a service, so that the next `service install` keeps the chosen options. */
export type ServiceRecord = {
  readonly version: string
  readonly options: readonly string[]
  /** The variables that were named with `--env`. */
  readonly env: Readonly<Record<string, string>>
}

export type ServiceWishes = {
  /** Node, its flags and the program that runs now. */
  readonly program: readonly string[]
  readonly dataDir: string
  readonly isDefaultDataDir: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly options?: readonly string[] | undefined
  /** The names of further variables that the service gets. */
  readonly names?: readonly string[] | undefined
  /** The record of the installed service. It supplies options and names that are not given. */
  readonly before?: ServiceRecord | undefined
}

/**
 * Settings of the server that are not secret. The service gets each setting that is set in the environment of the
 * command that installs it.
 */
const settings = [
  'PARLEY_HOST',
  'PARLEY_PORT',
  'PARLEY_LOG_LEVEL',
  'PARLEY_TOKEN_FILE',
  'PARLEY_NODE_URL',
  'PARLEY_PLACE',
  'PARLEY_PUBLIC_URL',
  'PARLEY_TRUST_PROXY',
  'PARLEY_TLS_CERT',
  'PARLEY_TLS_KEY',
  'LANG',
  'LC_ALL',
]
const secrets = { PARLEY_TOKEN: 'token', PARLEY_DATABASE_URL: 'databaseUrl' } as const
const visibleSecrets = /^--(token|database-url)(=|$)/

/** The name of the service of a data folder. Each data folder can have a service of its own. */
export function serviceName(dataDir: string, isDefaultDataDir: boolean): string {
  if (isDefaultDataDir) return 'parley'
  return `parley-${createHash('sha256').update(dataDir).digest('hex').slice(0, 8)}`
}

/**
 * Plans a service. Throws a ParleyError if its definition would contain secrets, or characters that a definition does
 * not allow.
 */
export function planService(wishes: ServiceWishes): ServicePlan {
  const { program, dataDir, isDefaultDataDir, env, before } = wishes
  const [node = '', ...rest] = program
  refuseNpxCache(program)
  const options = wishes.options ?? before?.options ?? []
  if (options.some((option) => /^--data-dir(=|$)/.test(option)))
    throw new ParleyError(
      'validation_error',
      'Give --data-dir before --, because each data folder has a service of its own.',
    )
  const shown = options.find((option) => visibleSecrets.test(option))
  if (shown !== undefined) throw secretOption(shown)
  const chosen = wishes.names ? valuesOf(wishes.names, env) : (before?.env ?? {})
  for (const [name, key] of Object.entries(secrets))
    if (env[name] && chosen[name] === undefined) throw secretVariable(name, key)
  const command = [node, ...rest, 'serve', '--quiet', '--data-dir', dataDir, ...options]
  const kept: ServiceWishes['env'] = { ...env, PATH: ownPath(env) }
  const captured = Object.fromEntries(
    ['PATH', ...settings].flatMap((name) => (kept[name] ? [[name, kept[name]]] : [])),
  )
  const variables: Record<string, string> = { ...captured, ...chosen }
  const relative = ['PARLEY_TLS_CERT', 'PARLEY_TLS_KEY'].find(
    (name) => variables[name] && !isAbsolute(variables[name]),
  )
  if (relative !== undefined)
    throw new ParleyError(
      'validation_error',
      `${relative} must be an absolute path: a service starts in your home folder.`,
    )
  for (const text of [...command, ...Object.values(variables)]) refuseControlCharacters(text)
  return {
    name: serviceName(dataDir, isDefaultDataDir),
    command,
    variables,
    record: { version, options, env: chosen },
  }
}

/**
 * The PATH without the folders that npm adds for its scripts. npm adds such a folder for every parent folder of the
 * project, and other users may be able to create some of these folders.
 */
function ownPath(env: ServiceWishes['env']): string | undefined {
  const { PATH } = env
  if (PATH === undefined || env.npm_lifecycle_event === undefined) return PATH
  const isOfNpm = (folder: string) => /\/(node_modules\/\.bin|node-gyp-bin)$/.test(folder)
  return PATH.split(':')
    .filter((folder) => !isOfNpm(folder))
    .join(':')
}

function valuesOf(names: readonly string[], env: ServiceWishes['env']): Record<string, string> {
  const pairs = names.map((name): [string, string] => {
    const value = env[name]
    if (!/^[a-z_]\w*$/i.test(name) || value === undefined)
      throw new ParleyError(
        'validation_error',
        `--env takes the name of a variable that is set here, not "${name}".`,
      )
    return [name, value]
  })
  return Object.fromEntries(pairs)
}

/** Refuses a program in the cache of npx: npm may delete it, and the service would then not start. */
function refuseNpxCache(program: readonly string[]): void {
  if (!program.some((word) => /[\\/]_npx[\\/]/.test(word))) return
  throw new ParleyError(
    'validation_error',
    'This program is in the cache of npx, which npm may delete. Install it, then install the service: npm install --global @parley/server && parley service install',
  )
}

function secretOption(option: string): ParleyError {
  const key = option.startsWith('--token') ? 'token' : 'databaseUrl'
  return new ParleyError(
    'validation_error',
    `${option.split('=')[0]} would show the secret to everybody who lists processes. Write it as "${key}" into config.json in the data folder.`,
  )
}

function secretVariable(name: string, key: string): ParleyError {
  return new ParleyError(
    'validation_error',
    `${name} is set here, but the service would not have it. Write it as "${key}" into config.json in the data folder and unset the variable, or give --env ${name} to store it in the definition of the service, readable only by you.`,
  )
}

function refuseControlCharacters(text: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a definition cannot contain
  if (!/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) return
  throw new ParleyError(
    'validation_error',
    `A service cannot be given ${JSON.stringify(text)}: it contains a control character.`,
  )
}
