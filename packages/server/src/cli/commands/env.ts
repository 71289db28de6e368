import { resolve } from 'node:path'
import type { Client } from '@parley/client'
import { type EnvironmentInfo, isAtSeveralPlaces, ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { printResult } from '../terminal/output.ts'
import { readSecret } from '../terminal/secret.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type EnvOptions = Flags & {
  readonly folder?: string
  readonly session?: string
  readonly inherit?: boolean
  readonly remove?: boolean
  readonly json?: boolean
}

const columns = [{ name: 'FOR', shrinks: true }, { name: 'VARIABLES' }]

/**
 * Sets a variable for agents, removes it, or lists the names that are set. A value is never an argument, because other
 * users of the machine can see arguments.
 */
export async function env(name: string | undefined, options: EnvOptions, context: Context): Promise<number> {
  if (options.folder !== undefined && options.session !== undefined) {
    throw new ParleyError('validation_error', 'Give --folder or --session, not both.')
  }
  const isListing = name === undefined && !options.remove
  const isAdding = !isListing && !options.remove
  const configuration = (isAdding ? configurationOf : existingConfigurationOf)(context, options)
  const value = isAdding ? await givenValue(name ?? '', options, context) : ''
  await using server = await connect(configuration, context)
  const { client } = server
  if (isListing) return await list(client, options, context)
  const { folder = '.', session } = options
  const target =
    session === undefined
      ? { folder: resolve(context.cwd, folder) }
      : { sessionId: await findSession(client, session, context) }
  if (options.remove) {
    await client.call('unsetEnvironment', { query: { ...target, ...(name !== undefined && { name }) } })
    const value = { ...target, name, removed: true }
    return printResult(context.output, options.json, { value, text: `Removed. ${fromWhen}` })
  }
  const info = await client.call('setEnvironment', {
    body: { ...target, variables: { [name ?? '']: value } },
  })
  const text = `Set ${name} for ${targetText(info)}. ${fromWhen}`
  return printResult(context.output, options.json, { value: info, text })
}

const fromWhen =
  'The change takes effect when an agent next starts; idle agents restart with their next prompt.'

async function givenValue(name: string, { inherit }: EnvOptions, context: Context): Promise<string> {
  if (!inherit) return readSecret(`Value of ${name} (not shown): `, context)
  const value = context.env[name]
  if (value !== undefined) return value
  throw new ParleyError('validation_error', `${name} is not set in this environment.`)
}

async function list(client: Client, { json }: EnvOptions, { output, commandLine }: Context): Promise<number> {
  const { environments } = await client.call('listEnvironments')
  const several = isAtSeveralPlaces(environments)
  const row = (one: EnvironmentInfo) => [targetText(one, several), one.names.join(' ')]
  const empty = `No variables are set. Set one: ${commandLine('env <name> --folder <folder>')}`
  printList(environments, { columns, row, empty }, { json, output })
  return 0
}

function targetText({ sessionId, folder = '', place }: EnvironmentInfo, showsPlace = false): string {
  return sessionId ?? oneLine(showsPlace && place ? `${folder} (${place})` : folder)
}
