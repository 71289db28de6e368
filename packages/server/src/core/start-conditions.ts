import type { AgentAdapter, ConnectInput } from './agent-adapter.ts'

/** What holds for an agent's process from its start to its end. Where it has changed, the next turn takes a new one. */
export function startConditions(
  { restartsFor = [] }: Pick<AgentAdapter, 'restartsFor'>,
  { settings, trusted, mcpServers }: Pick<ConnectInput, 'settings' | 'trusted' | 'mcpServers'>,
  offered: ConnectInput['hostTools'],
): string {
  const { options = {} } = settings
  const fixed = [...restartsFor, 'hostToolsOnly' as const].toSorted()
  const tools = (offered?.tools ?? []).map(({ name, description, inputSchema, annotations }) => [
    name,
    description,
    inputSchema,
    annotations,
  ])
  return JSON.stringify([trusted, mcpServers ?? null, fixed.map((option) => options[option] ?? null), tools])
}
