import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { shownDatabaseUrl } from '../../stores/postgres/database-url.ts'
import { copyClosedDatabase } from '../../stores/sqlite-closed.ts'
import { version } from '../../version.ts'
import { type SourceFile, writeArchive } from '../backup/archive.ts'
import { backedUpFiles, databaseName } from '../backup/contents.ts'
import { prepareSnapshot, snapshotName } from '../backup/snapshot.ts'
import { type Configuration, databaseFile, type Flags, nodeFile } from '../configuration.ts'
import { findServer, isFolderHeld, silent } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printResult } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'

type BackupOptions = Flags & { readonly json?: boolean }

/** Writes a backup of the data folder to a file. A running server continues to work. */
export async function backup(
  given: string | undefined,
  options: BackupOptions,
  context: Context,
): Promise<number> {
  const { output, cwd, commandLine } = context
  const configuration = existingConfigurationOf(context, options)
  const { dataDir } = configuration
  refusePostgres(configuration)
  const now = Date.now()
  const file = resolve(
    cwd,
    given ?? `parley-${new Date(now).toISOString().slice(0, 19).replace(/[T:]/g, '-')}.tar.gz`,
  )
  if (existsSync(file)) throw new ParleyError('conflict', `${file} exists already. Choose another name.`)
  const name = randomBytes(8).toString('hex')
  const snapshot = join(dataDir, snapshotName(name))
  using progress = startProgress('Backing up', output)
  try {
    progress.say('copying the database')
    await copyDatabase(configuration, name)
    const sources = [{ name: databaseName, content: snapshot }, ...smallFiles(dataDir)]
    const total = statSync(snapshot).size
    const manifest = await writeArchive(file, sources, {
      version,
      now,
      progress: (bytes) => progress.say(`${sizeText(bytes)} of ${sizeText(total)}`),
    })
    const { size: bytes } = statSync(file)
    const names = manifest.files.map((one) => one.name)
    const text = [
      `Wrote ${file} (${sizeText(bytes)}): ${names.join(', ')}.`,
      'It contains conversations and secrets, and is readable only by you.',
      `To restore it: ${commandLine(`restore ${file}`)}`,
    ].join('\n')
    progress[Symbol.dispose]()
    return printResult(output, options.json, { value: { file, bytes, files: manifest.files }, text })
  } finally {
    rmSync(snapshot, { force: true })
  }
}

/**
 * Copies the database into the data folder. If a server runs, the server makes the copy, because it has locked the
 * file.
 */
async function copyDatabase(configuration: Configuration, name: string): Promise<void> {
  const { dataDir } = configuration
  await using server = await findServer(configuration)
  if (server) {
    const { file } = await server.client.call('createSnapshot', { body: { name } })
    if (file !== snapshotName(name))
      throw new ParleyError(
        'internal_error',
        'The server wrote the copy of its database to an unexpected file.',
      )
    return
  }
  if (await isFolderHeld(dataDir)) throw silent(configuration)
  if (!existsSync(databaseFile(dataDir)))
    throw new ParleyError('not_found', `${dataDir} has no sessions yet: there is nothing to back up.`)
  prepareSnapshot(dataDir)
  await copyClosedDatabase(databaseFile(dataDir), join(dataDir, snapshotName(name)))
}

function smallFiles(dataDir: string): SourceFile[] {
  return backedUpFiles.flatMap(({ name }) => {
    const path = join(dataDir, name)
    return existsSync(path) ? [{ name, content: readFileSync(path) }] : []
  })
}

/** The sessions of a node are in PostgreSQL, which has its own program for backups. */
export function refusePostgres({ dataDir, databaseUrl }: Configuration): void {
  if (databaseUrl === undefined && !existsSync(nodeFile(dataDir))) return
  const url =
    databaseUrl === undefined ? readFileSync(nodeFile(dataDir), 'utf8').trim() : shownDatabaseUrl(databaseUrl)
  throw new ParleyError(
    'not_supported',
    `The sessions are in PostgreSQL, which has its own backup: pg_dump --format=custom --file=parley.dump ${url}. Keep config.json and the token of ${dataDir} beside it. docs/operations.md describes how to restore both.`,
  )
}

export function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
