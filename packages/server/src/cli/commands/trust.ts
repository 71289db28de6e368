import { resolve, sep } from 'node:path'
import type { Client } from '@parley/client'
import { hasCode, isAtSeveralPlaces, ParleyError, type TrustedFolder } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printResult } from '../terminal/output.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type TrustOptions = Flags & {
  readonly list?: boolean
  readonly remove?: boolean
  readonly json?: boolean
}

const columns = [{ name: 'FOLDER', shrinks: true }, { name: 'AGE' }]

/** Trusts a folder, revokes its trust, or lists the trusted folders. */
export async function trust(
  given: string | undefined,
  options: TrustOptions,
  context: Context,
): Promise<number> {
  if (options.list && (options.remove || given !== undefined)) {
    throw new ParleyError('validation_error', '--list takes no folder and no --remove.')
  }
  if (!options.list && given === undefined) {
    const here = context.commandLine('trust .')
    throw new ParleyError('validation_error', `Give a folder. To trust the current folder: ${here}`)
  }
  const isAdding = !options.list && !options.remove
  const configuration = (isAdding ? configurationOf : existingConfigurationOf)(context, options)
  await using server = await connect(configuration, context)
  const { client } = server
  if (given === undefined) return await list(client, options, context)
  const folder = resolve(context.cwd, given)
  try {
    return await (options.remove ? remove : add)(client, folder, options, context)
  } catch (thrown) {
    throw rewordedForTrust(thrown, folder, context)
  }
}

async function list(client: Client, { json }: TrustOptions, { output, commandLine }: Context) {
  const { folders } = await client.call('listTrustedFolders')
  const several = isAtSeveralPlaces(folders)
  const row = ({ folder, place, trustedAt }: TrustedFolder) => [
    several && place ? `${folder} (${place})` : folder,
    ageText(Date.now() - trustedAt),
  ]
  const empty = `No folder is trusted. Trust one: ${commandLine('trust <folder>')}`
  printList(folders, { columns, row, empty }, { json, output })
  return 0
}

type Change = (client: Client, folder: string, options: TrustOptions, context: Context) => Promise<number>

const add: Change = async (client, folder, { json }, { output }) => {
  const trusted = await client.call('trustFolder', { body: { folder } })
  const text = `Trusted ${oneLine(trusted.folder)} and all folders inside it. ${fromWhen}`
  return printResult(output, json, { value: trusted, text })
}

/**
 * Revokes the trust of a folder. The folder may be given by a symbolic link, so the lists before and after
 * the change show which folder was removed.
 */
const remove: Change = async (client, folder, { json }, { output }) => {
  const before = await client.call('listTrustedFolders')
  await client.call('distrustFolder', { query: { folder } })
  const { folders } = await client.call('listTrustedFolders')
  const gone = before.folders.find(
    (one) => !folders.some((left) => left.folder === one.folder && left.place === one.place),
  )
  const text = `No longer trusted: ${oneLine(gone?.folder ?? folder)}. ${fromWhen}`
  printResult(output, json, { value: gone ?? { folder }, text })
  const parent = folders.find((one) => isInside(gone?.folder ?? folder, one))
  if (parent) output.err(`parley: that folder is inside ${oneLine(parent.folder)}, which is still trusted.\n`)
  return 0
}

const fromWhen =
  'The change takes effect when an agent next starts; idle agents restart with their next prompt.'

function isInside(folder: string, parent: TrustedFolder): boolean {
  return folder.startsWith(parent.folder.endsWith(sep) ? parent.folder : parent.folder + sep)
}

/** Rewords the server's error for a person who typed `trust`. */
function rewordedForTrust(thrown: unknown, folder: string, { commandLine }: Context): unknown {
  if (!hasCode(thrown, 'not_found')) return thrown
  const words = `${folder} is not trusted. ${commandLine('trust --list')} lists the trusted folders.`
  return new ParleyError(thrown.code, words, { cause: thrown })
}
