import { ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printResult } from '../terminal/output.ts'
import { readSecret } from '../terminal/secret.ts'
import { oneLine } from '../terminal/visible.ts'

export type AddAgentOptions = Flags & {
  readonly command?: string
  readonly name?: string
  readonly json?: boolean
}
export type AgentKeyOptions = Flags & {
  readonly variable?: string
  readonly remove?: boolean
  readonly json?: boolean
}

/**
 * The commands in this file call the running server of the data folder, which applies changes at once.
 * Without a running server, they start a temporary server.
 */

export async function addAgent(
  id: string,
  args: readonly string[],
  options: AddAgentOptions,
  context: Context,
): Promise<number> {
  const { command = '', name } = options
  await using server = await connect(configurationOf(context, options), context)
  const body = {
    id,
    command,
    ...(name !== undefined && { name }),
    ...(args.length > 0 && { args: [...args] }),
  }
  const agent = await server.client.call('addAgent', { body })
  const text = `Added ${oneLine(agent.name)}. To test it: ${context.commandLine(`agents doctor ${id}`)}`
  return printResult(context.output, options.json, { value: agent, text })
}

export async function forgetAgent(
  id: string,
  options: Flags & { json?: boolean },
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  await server.client.call('forgetAgent', { params: { id } })
  const text = `Removed ${id}. Its sessions can still be read.`
  return printResult(context.output, options.json, { value: { id, forgotten: true }, text })
}

/**
 * Sets or removes a key of an agent. The key is read from stdin or typed without echo. It is not an argument, because
 * other users of the machine can see arguments.
 */
export async function agentKey(id: string, options: AgentKeyOptions, context: Context): Promise<number> {
  await using server = await connect(configurationOf(context, options), context)
  const { client } = server
  const variable = options.variable ?? (await usualKey(client, id))
  if (options.remove) {
    await client.call('removeAgentKey', { params: { id }, query: { variable } })
    const value = { id, variable, removed: true }
    return printResult(context.output, options.json, { value, text: `${variable} is removed.` })
  }
  const value = await readSecret(`${variable} for ${id} (not shown): `, context)
  await client.call('setAgentKey', { params: { id }, body: { variable, value } })
  const text = `${variable} is set for ${id}.`
  return printResult(context.output, options.json, { value: { id, variable }, text })
}

async function usualKey(client: Awaited<ReturnType<typeof connect>>['client'], id: string): Promise<string> {
  const { agents } = await client.call('listAgents')
  const agent = agents.find((one) => one.id === id)
  const [usual] = agent?.keys ?? []
  if (usual !== undefined) return usual
  const why = agent
    ? `Parley does not know which variable holds the key of ${id}.`
    : `There is no agent "${id}".`
  throw new ParleyError('validation_error', agent ? `${why} Give it with --variable.` : why)
}
