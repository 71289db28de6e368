import type { OpencodeClient, Provider } from '@opencode-ai/sdk/v2/client'
import type { AgentOutput, ConnectInput } from '@parley/adapter-kit'
import { type AgentCommand, type AgentModel, type Billing, ParleyError } from '@parley/protocol'
import { errorText, thrown } from './native.ts'
import { type NativeAgent, unaskedTools } from './rules.ts'

/** The data that a server reports about itself for one folder. */
export type ServerInfo = {
  readonly version: string
  readonly models: readonly AgentModel[]
  /** The efforts and the context size of every model. */
  readonly efforts: Readonly<Record<string, readonly string[]>>
  readonly windows: Readonly<Record<string, number>>
  readonly defaultModel: string | undefined
  readonly billings: Readonly<Record<string, Billing | undefined>>
  readonly commands: readonly AgentCommand[]
  readonly agents: readonly NativeAgent[]
  readonly tools: readonly string[]
  /** Tools that would run without asking. They are disabled. */
  readonly unasked: readonly string[]
  readonly mcpServers: readonly { readonly name: string; readonly status: string }[]
}

/** The agent for plan mode. OpenCode has it unless the person's settings disable it. */
export const planAgent = 'plan'
const maxModels = 200
const descriptionLength = 200
const compact: AgentCommand = { name: 'compact', description: 'Summarise the conversation so far' }

/** Queries a server. Rejects with a ParleyError if it is not OpenCode, is too old, or has no usable model. */
export async function readServerInfo(
  client: OpencodeClient,
  model: string | undefined,
  advice: Advice,
): Promise<ServerInfo> {
  const version = await versionOf(client, advice)
  const refusal = tooOld(version, advice.installAdvice)
  if (refusal !== undefined)
    throw new ParleyError('agent_failed', refusal, { details: { version, needed: oldestVersion } })
  const [providers, config, agents, commands, servers, tools] = await Promise.all([
    client.config.providers({}, thrown),
    client.config.get({}, thrown),
    client.app.agents({}, thrown),
    client.command.list({}, thrown),
    client.mcp.status({}, thrown),
    client.tool.ids({}, thrown),
  ])
  const unasked = unaskedTools(tools.data)
  const { providers: list, default: defaults } = providers.data
  const chosen = model ?? config.data.model
  if (chosen === undefined && !list.some(isConfigured)) throw notSignedIn(list, advice)
  const usual = config.data.model ?? firstDefault(defaults)
  const all = list.flatMap((provider) => modelsOf(provider, { usual, small: config.data.small_model }))
  const isWanted = ({ id, isDefault }: AgentModel) => Number(id === chosen || isDefault === true)
  return {
    version,
    models: all.toSorted((a, b) => isWanted(b) - isWanted(a)).slice(0, maxModels),
    efforts: Object.fromEntries(all.map(({ id, efforts = [] }) => [id, efforts])),
    windows: Object.fromEntries(all.map(({ id, contextWindow = 0 }) => [id, contextWindow])),
    defaultModel: chosen ?? firstDefault(defaults),
    billings: Object.fromEntries(list.map((provider) => [provider.id, billingOf(provider)])),
    commands: [compact, ...commands.data.map(agentCommand)],
    agents: agents.data,
    tools: tools.data.filter((name) => name !== 'invalid' && !unasked.includes(name)),
    unasked,
    mcpServers: Object.entries(servers.data).map(([name, { status }]) => ({ name, status })),
  }
}

export function connectedOutput(
  info: ServerInfo,
  agentSessionId: string,
  { settings, trusted, cwd }: Pick<ConnectInput, 'settings' | 'trusted' | 'cwd'>,
): AgentOutput {
  const { version, models, commands, mcpServers, defaultModel, agents, tools } = info
  const model = settings.model ?? defaultModel
  const billing = billingOfModel(info, model)
  const plans = agents.some(({ name }) => name === planAgent) ? (['plan'] as const) : []
  return {
    type: 'agent.connected',
    agentSessionId,
    agentVersion: version,
    cwd,
    models: [...models],
    commands: [...commands],
    mcpServers: [...mcpServers],
    tools: [...tools],
    modes: ['ask', 'accept-edits', 'read-only', ...plans, 'bypass'],
    loaded: trusted ? ['user', 'project'] : ['user'],
    ...(model !== undefined && { model }),
    ...(billing && { billing }),
  }
}

/** The billing of a model, by the provider in its id: an id is `provider/model`. */
export function billingOfModel(
  { billings, defaultModel }: ServerInfo,
  model: string | undefined,
): Billing | undefined {
  return billings[(model ?? defaultModel ?? '').split('/', 1)[0] ?? '']
}

async function versionOf(client: OpencodeClient, { installAdvice }: Advice): Promise<string> {
  try {
    const { data } = await client.global.health({ throwOnError: true })
    if (typeof data.version === 'string') return data.version
    throw new Error('it does not report its version')
  } catch (error) {
    const message = `The program that answers is not an OpenCode server, or is too old: ${errorText(error)}. Parley needs ${oldestVersion} or later. ${installAdvice}`
    throw new ParleyError('agent_failed', message, { cause: error })
  }
}

/**
 * False for the models that come with OpenCode and need no account. They are used only if a session names one of them.
 */
function isConfigured({ id, options }: Provider): boolean {
  return id !== 'opencode' || options.apiKey !== 'public'
}

function notSignedIn(providers: readonly Provider[], { signIn }: Advice): ParleyError {
  const free = providers.flatMap(({ id, models }) => Object.keys(models).map((name) => `${id}/${name}`))
  const hint = free[0] === undefined ? '' : ` Or choose one of its free models by name, such as ${free[0]}.`
  return new ParleyError(
    'agent_not_signed_in',
    `OpenCode has no model provider. Sign in once with the program itself (${signIn}), or set the key of a provider, such as ANTHROPIC_API_KEY, in the environment of the server.${hint}`,
  )
}

function modelsOf(
  { id: provider, name: providerName, models }: Provider,
  { usual, small }: { usual: string | undefined; small: string | undefined },
) {
  return Object.values(models)
    .filter(({ status, capabilities }) => status !== 'deprecated' && capabilities.toolcall)
    .map(({ id, name, limit, variants, capabilities, cost }): AgentModel => {
      const whole = `${provider}/${id}`
      const efforts = Object.keys(variants ?? {})
      return {
        id: whole,
        name,
        description: providerName,
        ...(limit.context > 0 && { contextWindow: limit.context }),
        ...(limit.output > 0 && { maxOutputTokens: limit.output }),
        ...(efforts.length > 0 && { efforts }),
        reasoning: capabilities.reasoning,
        attachments: capabilities.attachment,
        ...priceOf(cost),
        ...(whole === usual && { isDefault: true }),
        ...(whole === small && { isSmallDefault: true }),
      }
    })
}

/**
 * The price of a model. OpenCode lists a model without a known price with zero cost, so zero means no price.
 */
function priceOf(cost: Provider['models'][string]['cost'] | undefined): Pick<AgentModel, 'price'> {
  const { input = 0, output = 0, cache } = cost ?? {}
  if (input <= 0 && output <= 0) return {}
  const { read = 0, write = 0 } = cache ?? {}
  const cached = { ...(read > 0 && { cacheRead: read }), ...(write > 0 && { cacheWrite: write }) }
  return { price: { input, output, ...cached } }
}

function firstDefault(defaults: Readonly<Record<string, string>>): string | undefined {
  const [first] = Object.entries(defaults)
  return first && `${first[0]}/${first[1]}`
}

function agentCommand(native: {
  name: string
  description?: string
  hints: readonly string[]
}): AgentCommand {
  const { name, description, hints } = native
  return {
    name,
    ...(description !== undefined && { description: description.slice(0, descriptionLength) }),
    ...(hints.length > 0 && { hint: hints.join(' ') }),
  }
}

/** Cloud services, which are billed to an account of the cloud and not to the key of a provider. */
const clouds = /^(amazon-bedrock|google-vertex|azure|sap-ai-core)/
/** Providers that OpenCode can sign in to with an account. The source of a provider is then `custom`. */
const subscriptions = /^(openai|github-copilot)/

/** The billing of a provider's models, if the place where OpenCode found the credential determines it. */
export function billingOf({
  id,
  source,
  key,
  options,
}: Omit<Provider, 'models' | 'name' | 'env'>): Billing | undefined {
  if (clouds.test(id)) return 'cloud'
  if (source === 'custom') return subscriptions.test(id) ? 'subscription' : undefined
  const isKey =
    source === 'api' || source === 'env' || (typeof options.apiKey === 'string' && options.apiKey !== '')
  return isKey || key !== undefined ? 'api-key' : undefined
}

/** The oldest version that is known to ask before it acts, and whose events are translated here. */
export const oldestVersion = '1.18.33'

/** Advice for people. `signIn` is a command. */
export type Advice = {
  readonly installAdvice: string
  readonly signIn: string
}

/** The reason to refuse this version; undefined if it is accepted. A version that cannot be parsed is refused. */
export function tooOld(version: string, installAdvice: string): string | undefined {
  const given = numbersOf(version)
  const needed = numbersOf(oldestVersion) ?? []
  if (given && compare(given, needed) >= 0) return undefined
  return `OpenCode ${version} is too old: Parley needs ${oldestVersion} or later. ${installAdvice}`
}

/** The numbers of a version, for comparison. A prerelease, such as a beta, is older than its version. */
function numbersOf(version: string): number[] | undefined {
  const [, major, minor, patch, before] = /^v?(\d+)\.(\d+)\.(\d+)(-)?/.exec(version) ?? []
  if (major === undefined) return undefined
  return [Number(major), Number(minor), Number(patch) - (before === undefined ? 0 : 0.5)]
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((number, at) => number !== b[at])
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}
