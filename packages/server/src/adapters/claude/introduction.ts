import type { Options, Query } from '@anthropic-ai/claude-agent-sdk'
import type { AgentCommand, AgentModel } from '@parley/protocol'
import { billingOf, credentialOf } from './credential.ts'

type NativeModel = Awaited<ReturnType<Query['supportedModels']>>[number]
type NativeCommand = Awaited<ReturnType<Query['supportedCommands']>>[number]

/** The model that Claude Code uses for side tasks such as titles. */
const smallModel = 'haiku'

/** Models, commands, loaded settings and billing, as the program reports them at its start. */
export async function introductionOf(query: Query, loaded: NonNullable<Options['settingSources']>) {
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
