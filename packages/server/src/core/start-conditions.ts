import type { AgentAdapter, ConnectInput, PrepareInput } from './agent-adapter.ts'
import { hashOf } from './hash.ts'

export type StartedWith = Pick<ConnectInput, 'settings' | 'trusted' | 'mcpServers' | 'env'>

/**
 * The conditions of an agent's process, which stay the same from its start to its end, as a text to compare.
 * If they have changed, the next turn uses a new process.
 */
export function startConditions(
  { restartsFor = [], revision }: Pick<AgentAdapter, 'restartsFor' | 'revision'>,
  { settings, trusted, mcpServers, env }: StartedWith,
  offered: PrepareInput['hostTools'],
): string {
  const { options = {} } = settings
  const fixed = [...restartsFor, 'hostToolsOnly' as const].toSorted()
  const tools = (offered?.tools ?? []).map(({ name, description, inputSchema, annotations }) => [
    name,
    description,
    inputSchema,
    annotations,
  ])
  const variables = env ? hashOf(env) : null
  const values = fixed.map((option) => options[option] ?? null)
  return JSON.stringify([revision ?? null, trusted, mcpServers ?? null, variables, values, tools])
}
