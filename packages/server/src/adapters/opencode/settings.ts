import {
  type EnvironmentVariables,
  isRecord,
  type McpServer,
  type McpServers,
  ParleyError,
  type SessionOptions,
} from '@parley/protocol'
import { environmentKey } from '../environment.ts'
import { baseline } from './rules.ts'

/** The session options that this adapter supports. All take effect with the next prompt. */
export const honouredOptions = [
  'effort',
  'appendSystemPrompt',
  'outputSchema',
] as const satisfies readonly (keyof SessionOptions)[]

/** The properties of a session that decide which server it can share. */
export type ServerNeeds = {
  readonly trusted: boolean
  readonly mcpServers?: McpServers | undefined
  readonly env?: EnvironmentVariables | undefined
}

/** Sessions with equal keys share a server. */
export function serverKey({ trusted, mcpServers = {}, env }: ServerNeeds): string {
  const servers = Object.entries(mcpServers).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([trusted, servers, environmentKey(env)])
}

/**
 * The settings of a server in addition to the person's own. A refusal must not end the turn: the model is told and
 * continues. Without trust, nothing in a folder is loaded.
 */
export function serverEnvironment(
  from: Readonly<Record<string, string>>,
  { trusted, mcpServers = {}, env: more }: ServerNeeds,
): Record<string, string> {
  const env = { ...from, ...more }
  const given = parsed(env, 'OPENCODE_CONFIG_CONTENT')
  const mcp = Object.fromEntries(
    Object.entries(mcpServers).map(([name, server]) => [name, nativeServer(server)]),
  )
  const config = merged(given, {
    experimental: { continue_loop_on_deny: true },
    agent: { explore: { permission: { edit: 'deny' } } },
    mcp,
  })
  return {
    ...env,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    OPENCODE_PERMISSION: JSON.stringify({ ...parsed(env, 'OPENCODE_PERMISSION'), ...baseline }),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    ...(!trusted && { OPENCODE_DISABLE_PROJECT_CONFIG: '1' }),
  }
}

function parsed(env: Readonly<Record<string, string>>, name: string): Record<string, unknown> {
  const text = env[name]
  if (text === undefined || text === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return { ...value }
  } catch {}
  throw new ParleyError('validation_error', `${name} is set, but is no JSON object. Correct it, or unset it.`)
}

function merged(
  into: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const both = { ...into }
  for (const [name, value] of Object.entries(more)) {
    const before = both[name]
    both[name] = isRecord(before) && isRecord(value) ? merged(before, value) : value
  }
  return both
}

function nativeServer(server: McpServer): Record<string, unknown> {
  if ('url' in server) {
    const { url, headers } = server
    return { type: 'remote', url, oauth: false, ...(headers && { headers }) }
  }
  const { command, args = [], env } = server
  return { type: 'local', command: [command, ...args], ...(env && { environment: env }) }
}

export type NativeModel = { readonly providerID: string; readonly modelID: string }

/** OpenCode's model names are `provider/model`; the name of the model may contain a slash. */
export function nativeModel(model: string): NativeModel | undefined {
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) return undefined
  return { providerID: model.slice(0, slash), modelID: model.slice(slash + 1) }
}
