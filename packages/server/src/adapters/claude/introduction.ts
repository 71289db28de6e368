import type { AccountInfo, Query } from '@anthropic-ai/claude-agent-sdk'
import type { AgentCommand, AgentModel, Billing } from '@parley/protocol'
import type { SettingSources } from './settings.ts'

type NativeModel = Awaited<ReturnType<Query['supportedModels']>>[number]
type NativeCommand = Awaited<ReturnType<Query['supportedCommands']>>[number]

/** The model that Claude Code uses for side tasks such as titles. */
const smallModel = 'haiku'

/** Models, commands, loaded settings and billing, as the program reports them at its start. */
export async function introductionOf(query: Query, loaded: SettingSources) {
  const { models, commands, account } = await query.initializationResult()
  const credential = credentialOf(account)
  const billing = billingOf(account)
  return {
    type: 'agent.connected' as const,
    models: models.map(agentModel),
    commands: commands.map(agentCommand),
    loaded,
    ...(credential !== undefined && { credential }),
    ...(billing && { billing }),
  }
}

export function agentModel(native: NativeModel): AgentModel {
  const { value, displayName, description, supportedEffortLevels, supportsAdaptiveThinking, resolvedModel } =
    native
  return {
    id: value,
    name: displayName,
    description,
    ...(supportedEffortLevels && { efforts: [...supportedEffortLevels] }),
    ...(supportsAdaptiveThinking !== undefined && { reasoning: supportsAdaptiveThinking }),
    ...(value === 'default' && { isDefault: true }),
    ...(value === smallModel && { isSmallDefault: true }),
    ...(resolvedModel !== undefined && { resolvesTo: resolvedModel }),
  }
}

function agentCommand({ name, description, argumentHint }: NativeCommand): AgentCommand {
  return { name, description, ...(argumentHint && { hint: argumentHint }) }
}

const clouds: Partial<Record<NonNullable<AccountInfo['apiProvider']>, string>> = {
  bedrock: 'Amazon Bedrock',
  vertex: 'Google Vertex AI',
  foundry: 'Microsoft Foundry',
  anthropicAws: 'Claude Platform on AWS',
  anthropicGoogleCloud: 'Claude Platform on Google Cloud',
  mantle: 'Amazon Bedrock',
  gateway: 'a gateway',
}

/**
 * The billing source as the program reports it, without the identity of the account. Undefined if it is not reported.
 */
export function credentialOf(account: AccountInfo | undefined): string | undefined {
  const { apiProvider, apiKeySource, tokenSource, subscriptionType } = account ?? {}
  const cloud = apiProvider && clouds[apiProvider]
  if (cloud) return cloud
  if (isNamed(apiKeySource))
    return apiKeySource === '/login managed key' ? 'Claude Console key' : apiKeySource
  if (subscriptionType) return `${subscriptionType} sign-in`
  if (!isNamed(tokenSource)) return undefined
  return tokenSource === 'claude.ai' ? 'Claude sign-in' : tokenSource
}

/**
 * The kind of account that pays for the model. Undefined if the program's report does not show it: a gateway may bill
 * in any way.
 */
export function billingOf(account: AccountInfo | undefined): Billing | undefined {
  const { apiProvider, apiKeySource, tokenSource, subscriptionType } = account ?? {}
  if (apiProvider === 'gateway') return undefined
  if (apiProvider && clouds[apiProvider]) return 'cloud'
  if (isNamed(apiKeySource)) return 'api-key'
  if (subscriptionType || tokenSource === 'claude.ai' || tokenSource === 'CLAUDE_CODE_OAUTH_TOKEN')
    return 'subscription'
  return undefined
}

function isNamed(source: string | undefined): source is string {
  return source !== undefined && source !== 'none' && source !== ''
}
