import { existsSync, rmSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'
import { shownDatabaseUrl } from '../../stores/postgres/database-url.ts'
import { openPostgresTransfer } from '../../stores/postgres/transfer.ts'
import { openSqliteTransfer } from '../../stores/sqlite-transfer.ts'
import type { TransferStore } from '../../stores/transfer.ts'
import { databaseFile, type Flags, nodeFile } from '../configuration.ts'
import { type Context, configurationOf } from '../context.ts'
import {
  type CopyCounts,
  type CopyParts,
  compareStores,
  copyStore,
  countSettings,
  readSettings,
  sessionIds,
  settingsAt,
  settingsOf,
} from '../copy-store.ts'
import { makeDataFolder } from '../data-folder.ts'
import { placeOfMachine } from '../place.ts'
import { startProgress } from '../terminal/progress.ts'

export type MigrateOptions = Omit<Flags, 'databaseUrl'> & {
  /** A URL, or true for the configured URL. */
  readonly to?: string | true
  readonly from?: string | true
  readonly check?: boolean
  readonly json?: boolean
}

/** Copies a data folder into a PostgreSQL database, or back, and compares both. The source is not changed. */
export async function migrate(options: MigrateOptions, context: Context): Promise<number> {
  const { output } = context
  const given = options.to ?? options.from
  if (given === undefined || (options.to !== undefined && options.from !== undefined))
    throw usage('Give either --to or --from, with the URL of a PostgreSQL database.')
  const {
    dataDir,
    place: named,
    databaseUrl,
  } = configurationOf(context, {
    ...options,
    ...(given !== true && { databaseUrl: given }),
  })
  if (databaseUrl === undefined) throw usage('Give the URL of the database, or set PARLEY_DATABASE_URL.')
  const file = databaseFile(dataDir)
  const isExport = options.to !== undefined
  if (isExport && !existsSync(file)) throw usage(`There is nothing to copy: ${file} does not exist.`)
  makeDataFolder(dataDir)
  await using stack = new AsyncDisposableStack()
  const sqlite = openSqliteTransfer({ file })
  stack.defer(() => sqlite.close())
  const place = named ?? placeOfMachine(dataDir)
  const postgres = await openPostgresTransfer({ url: databaseUrl, place })
  stack.defer(() => postgres.close())
  const [source, target] = isExport ? [sqlite, postgres] : [postgres, sqlite]
  const [here, there] = [file, shownDatabaseUrl(databaseUrl)]
  const [from, to] = isExport ? [here, there] : [there, here]
  const stored = await readSettings(source)
  const settings = isExport ? settingsAt(place, stored) : settingsOf(place, stored)
  if (await source.isUnfinished()) throw usage(`${from} is itself an unfinished copy.`)

  const run = { source, target, settings, total: await countSessions(source) }
  const counts = options.check ? undefined : await copy(run, { from, to, options, context })
  const compared = await compare(run, { from, to, options, context })
  await source.assertUnused()
  await target.assertUnused()
  if (counts) await target.finish()
  if (counts && !isExport) rmSync(nodeFile(dataDir), { force: true })
  const skipped = countSettings(stored) - countSettings(settings)
  const result = { ...compared, ...counts, settings: countSettings(settings), skippedSettings: skipped }
  if (options.json) output.out(`${JSON.stringify({ type: 'result', from, to, ...result })}\n`)
  else output.out(summary({ from, to, isExport, isCheck: counts === undefined, ...result }))
  return 0
}

type Run = Omit<CopyParts, 'progress'> & { readonly total: number }
type Surroundings = {
  readonly from: string
  readonly to: string
  readonly options: MigrateOptions
  readonly context: Context
}

async function copy(run: Run, { to, options, context }: Surroundings): Promise<CopyCounts> {
  const { target } = run
  if (!(await target.isUnfinished())) {
    await refuseContents(target, to)
    await target.begin()
  }
  using progress = progressOf('copy', run.total, { options, context })
  return await copyStore({ ...run, progress: progress.report })
}

async function compare(run: Run, { options, context }: Surroundings): Promise<CopyCounts> {
  const last = { sessions: 0, events: 0, receipts: 0 }
  using progress = progressOf('verify', run.total, { options, context })
  await compareStores({
    ...run,
    progress(counts) {
      Object.assign(last, counts)
      progress.report(counts)
    },
  })
  return last
}

async function refuseContents(target: TransferStore, to: string): Promise<void> {
  const { value } = await sessionIds(target).next()
  if (value === undefined && countSettings(await readSettings(target)) === 0) return
  throw new ParleyError(
    'conflict',
    `${to} is not empty, and it is not an interrupted copy. Nothing was changed. Choose an empty target.`,
  )
}

const reportMs = 1_000

async function countSessions(store: TransferStore): Promise<number> {
  let total = 0
  for await (const _ of sessionIds(store)) total++
  return total
}

function progressOf(
  phase: 'copy' | 'verify',
  total: number,
  { options: { json }, context: { output } }: Pick<Surroundings, 'options' | 'context'>,
) {
  const what = phase === 'copy' ? 'Copying' : 'Verifying'
  const shown = json ? undefined : startProgress(what, output)
  let last = ''
  let reportedAt = performance.now()
  return {
    report({ sessions, events }: CopyCounts): void {
      last = `${sessions} of ${total} sessions, ${events} events`
      shown?.say(last)
      if (!json || performance.now() - reportedAt < reportMs) return
      reportedAt = performance.now()
      output.out(`${JSON.stringify({ type: 'progress', phase, sessions, total, events })}\n`)
    },
    [Symbol.dispose]() {
      shown?.[Symbol.dispose]()
      // On a terminal, the progress line was overwritten. In a log, the last progress is written as a line of
      // its own.
      if (shown && last !== '' && !output.isErrTerminal) output.err(`${what}: ${last}\n`)
    },
  }
}

type Summary = CopyCounts & {
  readonly from: string
  readonly to: string
  readonly isExport: boolean
  readonly isCheck: boolean
  readonly settings: number
  readonly skippedSettings: number
}

function summary({ from, to, isExport, isCheck, sessions, events, ...rest }: Summary): string {
  const what = `${sessions} sessions with ${events} events, and ${rest.settings} settings`
  if (isCheck) return `Equal: ${what}, in ${from} and ${to}.\n`
  const skipped = `${rest.skippedSettings} settings of folders on other machines were left out.\n`
  const next = isExport
    ? `Start the server with PARLEY_DATABASE_URL. ${from} is unchanged; delete it when you no longer need it.`
    : 'Start the server without PARLEY_DATABASE_URL. The database is unchanged.'
  return `Copied and verified: ${what}, from ${from} to ${to}.\n${rest.skippedSettings > 0 ? skipped : ''}${next}\n`
}

function usage(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
