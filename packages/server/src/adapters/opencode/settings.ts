import type { AgentOutput, ConnectInput } from '@parley/adapter-kit'
import { environmentKey } from '@parley/adapter-kit/environment'
import {
  type Billing,
  type EnvironmentVariables,
  isRecord,
  type McpServer,
  type McpServers,
  ParleyError,
  type PermissionMode,
  type SessionOptions,
  type SessionSettings,
} from '@parley/protocol'
import { baseline, type NativeAgent } from './rules.ts'
import { billingOfModel, connectedOutput, planAgent, type ServerInfo } from './server-info.ts'

/** The properties of a session that select its server: sessions with equal properties can share a server. */
export type ServerNeeds = {
  readonly trusted: boolean
  readonly mcpServers?: McpServers | undefined
  readonly env?: EnvironmentVariables | undefined
}

/** A key that is equal for sessions that can share a server. */
export function serverKey({ trusted, mcpServers = {}, env }: ServerNeeds): string {
  const servers = Object.entries(mcpServers).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([trusted, servers, environmentKey(env)])
}

/**
 * The environment of a server: the person's variables, and settings of Parley. With these settings, a refusal does not
 * end the turn (the model receives it and continues), and OpenCode loads no settings from an untrusted folder.
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
  throw new ParleyError(
    'validation_error',
    `${name} is set, but is not a JSON object. Correct it, or unset it.`,
  )
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

/**
 * Splits a model name of the form `provider/model`; the name of the model may contain a slash. Returns undefined for
 * any other form.
 */
export function nativeModel(model: string): NativeModel | undefined {
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) return undefined
  return { providerID: model.slice(0, slash), modelID: model.slice(slash + 1) }
}

/** The plan agent in plan mode, otherwise the person's default, which OpenCode lists first. */
export function agentFor(
  { agents }: Pick<ServerInfo, 'agents'>,
  mode: PermissionMode | undefined,
): NativeAgent | undefined {
  const plan = mode === 'plan' ? agents.find(({ name }) => name === planAgent) : undefined
  return plan ?? agents.find((agent) => agent.mode !== 'subagent' && !agent.hidden)
}

/** The settings of a session as OpenCode applies them. Reports them to the host. */
export class EffectiveSettings {
  readonly #info: ServerInfo
  readonly #put: (output: AgentOutput) => void
  #requested: SessionSettings
  /** A mode that takes effect with the next turn. */
  #nextMode: PermissionMode | undefined
  #billing: Billing | undefined

  constructor(info: ServerInfo, requested: SessionSettings, put: (output: AgentOutput) => void) {
    this.#info = info
    this.#requested = requested
    this.#put = put
  }

  get #mode(): PermissionMode {
    return this.#requested.mode ?? 'ask'
  }

  get agent(): NativeAgent | undefined {
    return agentFor(this.#info, this.#mode)
  }

  /** The effective options. An effort that the model does not have is left out. */
  get options(): SessionOptions {
    const { options = {} } = this.#requested
    if (this.#missingEffort === undefined) return options
    const { effort: _, ...others } = options
    return others
  }

  get #missingEffort(): string | undefined {
    const { model = this.#info.defaultModel ?? '', options } = this.#requested
    const effort = options?.effort
    return effort === undefined || this.#info.efforts[model]?.includes(effort) ? undefined : effort
  }

  /** The requested model. Throws a ParleyError if its name does not have the form of OpenCode's model names. */
  get model(): NativeModel | undefined {
    const { model } = this.#requested
    if (model === undefined) return undefined
    const native = nativeModel(model)
    if (native) return native
    const example = this.#info.models[0]?.id ?? 'provider/model'
    const message = `OpenCode names models as provider/model, such as ${example}; "${model}" is not such a name.`
    throw new ParleyError('validation_error', message)
  }

  /** The parameters of a prompt or command that select the agent and the effort. */
  get promptParams(): { agent?: string; variant?: string } {
    const { effort } = this.options
    return {
      ...(this.#mode === 'plan' && this.agent?.name === planAgent && { agent: planAgent }),
      ...(effort !== undefined && { variant: effort }),
    }
  }

  /** Reports the connection and the settings it starts with. */
  reportConnected(agentSessionId: string, input: ConnectInput): void {
    this.#billing = billingOfModel(this.#info, this.#requested.model)
    this.#put(connectedOutput(this.#info, agentSessionId, input))
    this.#reportConfigured(this.#mode)
    const { unasked } = this.#info
    if (unasked.length === 0) return
    const text = `OpenCode would run these tools without asking, so the model does not get them: ${unasked.join(', ')}`
    this.#put({ type: 'agent.noticed', level: 'info', code: 'tools-left-out', text })
  }

  /**
   * Applies new settings. The host enforces the mode, except for plan mode, which takes effect with the next turn.
   * Other settings take effect with the next prompt.
   */
  configure(settings: SessionSettings, hasTurn: boolean): void {
    const before = this.agent
    this.#requested = { ...this.#requested, ...settings }
    const waits = hasTurn && this.agent !== before
    this.#nextMode = waits ? this.#mode : undefined
    this.#reportConfigured(waits ? undefined : this.#mode)
    this.#reportBilling(settings.model)
  }

  /** Called when a turn begins: reports a mode that takes effect with it. */
  beginTurn(): void {
    if (this.#nextMode) this.#reportConfigured(this.#nextMode)
    this.#nextMode = undefined
  }

  #reportConfigured(mode: PermissionMode | undefined): void {
    const requestedAny = this.#requested.options !== undefined
    const effective = { ...(mode && { mode }), ...(requestedAny && { options: this.options }) }
    this.#put({ type: 'session.configured', effective })
    const effort = this.#missingEffort
    if (effort === undefined) return
    const text = `The model has no effort "${effort}"; the setting is ignored.`
    this.#put({ type: 'agent.noticed', level: 'warning', code: 'no-effort', text })
  }

  /**
   * Reports the billing if it has changed: another model may belong to another provider, which is billed
   * differently.
   */
  #reportBilling(model: string | undefined): void {
    const billing = billingOfModel(this.#info, model)
    if (billing === undefined || billing === this.#billing) return
    this.#billing = billing
    this.#put({ type: 'agent.connected', billing })
  }
}
