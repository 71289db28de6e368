import { resolve } from 'node:path'
import type { Client } from '@parley/client'
import { type EnvironmentInfo, ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { findSession } from '../session-reference.ts'
import { readSecret } from '../terminal/secret.ts'
import { tableLines } from '../terminal/table.ts'
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
 * Sets a variable for agents, removes it, or lists the names that are set. A value is never an argument, because others
 * could see it.
 */
export async function env(name: string | undefined, options: EnvOptions, context: Context): Promise<number> {
  if (options.folder !== undefined && options.session !== undefined) {
    throw new ParleyError('validation_error', 'Give --folder or --session, not both.')
  }
  const isListing = name === undefined && !options.remove
  const value = isListing || options.remove ? '' : await givenValue(name ?? '', options, context)
  await using server = await connect(configurationOf(context, options), context)
  const { client } = server
  if (isListing) return await list(client, options, context)
  const { folder = '.', session } = options
  const place =
    session === undefined
      ? { folder: resolve(context.cwd, folder) }
      : { sessionId: await findSession(client, session, context) }
  if (options.remove) {
    await client.call('unsetEnvironment', { query: { ...place, ...(name !== undefined && { name }) } })
    if (options.json) context.output.out(`${JSON.stringify({ ...place, name, removed: true })}\n`)
    else context.output.err(`Removed. ${fromWhen}\n`)
    return 0
  }
  const info = await client.call('setEnvironment', { body: { ...place, variables: { [name ?? '']: value } } })
  if (options.json) context.output.out(`${JSON.stringify(info)}\n`)
  else context.output.err(`Set ${name} for ${placeText(info)}. ${fromWhen}\n`)
  return 0
}

const fromWhen = 'Takes effect when an agent next starts; idle agents restart with their next prompt.'

async function givenValue(name: string, { inherit }: EnvOptions, context: Context): Promise<string> {
  if (!inherit) return readSecret(`Value of ${name} (not shown): `, context)
  const value = context.env[name]
  if (value !== undefined) return value
  throw new ParleyError('validation_error', `${name} is not set in this environment.`)
}

async function list(client: Client, { json }: EnvOptions, { output, commandLine }: Context): Promise<number> {
  const { environments } = await client.call('listEnvironments')
  if (json) {
    for (const one of environments) output.out(`${JSON.stringify(one)}\n`)
    return 0
  }
  if (environments.length === 0) {
    output.err(`No variables are set. Set one: ${commandLine('env <name> --folder <folder>')}\n`)
    return 0
  }
  const rows = environments.map((one) => [placeText(one), one.names.join(' ')])
  const [head = '', ...lines] = tableLines(columns, rows, output.isOutTerminal ? output.columns() : undefined)
  output.out([output.outStyle.dim(head), ...lines, ''].join('\n'))
  return 0
}

function placeText({ sessionId, folder = '' }: EnvironmentInfo): string {
  return sessionId ?? oneLine(folder)
}
