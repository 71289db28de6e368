import type { Options, Query } from '@anthropic-ai/claude-agent-sdk'
import type { AgentCommand, AgentModel } from '@parley/protocol'
import { credentialOf } from './credential.ts'

type NativeModel = Awaited<ReturnType<Query['supportedModels']>>[number]
type NativeCommand = Awaited<ReturnType<Query['supportedCommands']>>[number]

/** Models, commands, what was loaded and what pays, as the program itself tells them when it is started. */
export async function introductionOf(query: Query, loaded: NonNullable<Options['settingSources']>) {
  const { models, commands, account } = await query.initializationResult()
  const credential = credentialOf(account)
  return {
    type: 'agent.connected' as const,
    models: models.map(agentModel),
    commands: commands.map(agentCommand),
    loaded,
    ...(credential !== undefined && { credential }),
  }
}

function agentModel(native: NativeModel): AgentModel {
  const { value, displayName, description, supportedEffortLevels, supportsAdaptiveThinking } = native
  return {
    id: value,
    name: displayName,
    description,
    ...(supportedEffortLevels && { efforts: [...supportedEffortLevels] }),
    ...(supportsAdaptiveThinking !== undefined && { reasoning: supportsAdaptiveThinking }),
    ...(value === 'default' && { isDefault: true }),
  }
}

function agentCommand({ name, description, argumentHint }: NativeCommand): AgentCommand {
  return { name, description, ...(argumentHint && { hint: argumentHint }) }
}
