import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { backedUpFiles } from '../backup/contents.ts'
import { type Restored, restore } from '../backup/restore.ts'
import { type Configuration, databaseFile, type Flags } from '../configuration.ts'
import { findServer } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { makeDataFolder } from '../data-folder.ts'
import { localTimeText } from '../durations.ts'
import { printResult } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { refusePostgres, sizeText } from './backup.ts'

type RestoreOptions = Flags & {
  readonly yes?: boolean
  readonly json?: boolean
  readonly afterPgRestore?: boolean
}

/** Replaces the data folder by the contents of a backup. */
export async function restoreBackup(
  given: string | undefined,
  options: RestoreOptions,
  context: Context,
): Promise<number> {
  const { cwd, output } = context
  const configuration = configurationOf(context, options)
  if (options.afterPgRestore) return await afterPgRestore(given, configuration, { options, context })
  if (given === undefined) throw new ParleyError('validation_error', 'Give the file of the backup.')
  const { dataDir } = configuration
  refusePostgres(configuration)
  await refuseServer(configuration)
  if (hasData(dataDir) && !options.yes)
    throw new ParleyError(
      'conflict',
      `${dataDir} has data, which would be replaced. Pass --yes to replace it, or choose an empty folder with --data-dir.`,
    )
  makeDataFolder(dataDir)
  using progress = startProgress('Restoring', output)
  const restored = await restore({
    dataDir,
    archive: resolve(cwd, given),
    extracted: (bytes) => progress.say(sizeText(bytes)),
    checking: () => progress.say('checking the database'),
  })
  progress[Symbol.dispose]()
  const { manifest, sessions, kept, damaged } = restored
  const value = {
    dataDir,
    sessions,
    createdAt: manifest.createdAt,
    version: manifest.version,
    kept,
    ...(damaged && { damaged }),
  }
  return printResult(output, options.json, { value, text: summary(restored, dataDir, context) })
}

function summary(
  { manifest, sessions, kept, damaged }: Restored,
  dataDir: string,
  { commandLine }: Context,
): string {
  const at = localTimeText(manifest.createdAt)
  return [
    `Restored ${sessions} sessions into ${dataDir}, from the backup of ${at} (Parley ${manifest.version}).`,
    ...kept.map((name) => `The current ${name} was kept.`),
    ...(damaged === undefined ? [] : [`The database could not be read. It is kept as ${damaged}.`]),
    'If the data folder was empty before, browsers and tokens that were revoked after the backup may have access again: check them.',
    `Start the server: ${commandLine('serve')}`,
  ].join('\n')
}

function hasData(dataDir: string): boolean {
  return [databaseFile(dataDir), ...backedUpFiles.map(({ name }) => resolve(dataDir, name))].some((file) =>
    existsSync(file),
  )
}

async function refuseServer(configuration: Configuration): Promise<void> {
  await using server = await findServer(configuration)
  if (!server) return
  throw new ParleyError(
    'busy',
    `A server uses the data folder ${configuration.dataDir} (${server.url}). Stop it first. Nothing was changed.`,
  )
}

/** Gives every session of a PostgreSQL database a new epoch, because an older state of the database was restored. */
async function afterPgRestore(
  given: string | undefined,
  { databaseUrl }: Configuration,
  { options, context }: { readonly options: RestoreOptions; readonly context: Context },
): Promise<number> {
  if (given !== undefined || databaseUrl === undefined)
    throw new ParleyError(
      'validation_error',
      '--after-pg-restore takes no file, and needs PARLEY_DATABASE_URL.',
    )
  const { openPostgresTransfer } = await import('../../stores/postgres/transfer.ts')
  const store = await openPostgresTransfer({ url: databaseUrl, place: 'machine:none' })
  try {
    const sessions = await store.beginEpochs()
    // A decision link works once, and may have been used or revoked since the backup.
    await store.pruneDecisionLinks(Number.MAX_SAFE_INTEGER)
    await store.assertUnused()
    const text = `Prepared ${sessions} sessions. Browsers and tokens that were revoked after the dump have access again: check them.`
    return printResult(context.output, options.json, { value: { sessions }, text })
  } finally {
    await store.close()
  }
}
