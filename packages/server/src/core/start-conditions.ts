import type { AgentAdapter, ConnectInput, PrepareInput } from '@parley/adapter-kit'
import { hashOf } from './hash.ts'

export type StartedWith = Pick<ConnectInput, 'settings' | 'trusted' | 'mcpServers' | 'env'>

/**
 * The conditions for the start of an agent's process, as a text to compare. If they differ from those under which the
 * current process was started, the next turn uses a new process.
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
