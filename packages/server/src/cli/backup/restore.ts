import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { allRoles, defined } from '@parley/protocol'
import { migrations } from '../../stores/migrations/index.ts'
import { checkDatabase, type FolderLock, lockDatabase, type Revoked } from '../../stores/sqlite-closed.ts'
import { identityOf, removeOwner } from '../../stores/sqlite-owner.ts'
import { openSqliteTransfer } from '../../stores/sqlite-transfer.ts'
import { databaseFile } from '../configuration.ts'
import { finishRestore, readyFolder } from '../data-folder.ts'
import { type Progress, readArchive } from './archive.ts'
import { backedUpFiles, databaseName, type Manifest } from './contents.ts'

export type Restored = {
  readonly manifest: Manifest
  readonly sessions: number
  /** The files of the backup that were not restored, because the current files of the data folder are kept. */
  readonly kept: readonly string[]
  /** The path to which a damaged database was moved before it was replaced. */
  readonly damaged?: string
}

export type RestoreOptions = {
  readonly dataDir: string
  readonly archive: string
  readonly extracted: Progress
  /** Called after the files were extracted, before the database is checked. The check takes a while. */
  readonly checking: () => void
}

/**
 * Replaces the contents of a data folder with those of a backup. The data folder must exist. All files are
 * first prepared in a staging folder. Renaming this folder is the point of no return: if the process is
 * killed before the rename, the data folder is unchanged; if the process is killed after the rename, the next
 * command completes the restore. Rejects with a ParleyError if a server uses the data folder.
 */
export async function restore({ dataDir, archive, extracted, checking }: RestoreOptions): Promise<Restored> {
  using lock = lockDatabase(databaseFile(dataDir))
  const staging = join(dataDir, 'restore.partial')
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  try {
    const manifest = await readArchive(archive, staging, extracted)
    checking()
    const sessions = await prepareDatabase(join(staging, databaseName), lock.revoked())
    const kept = keepCurrent(dataDir, staging)
    syncFolder(staging)
    const damaged = replaceData(dataDir, staging, lock)
    return { manifest, sessions, kept, ...(damaged && { damaged }) }
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/**
 * Moves the prepared files into the data folder. A damaged database cannot be locked, but no server can open it either.
 * It is moved aside, its write-ahead log first, because SQLite would apply that log to the restored database. Returns
 * the new path of the damaged database.
 */
function replaceData(dataDir: string, staging: string, lock: FolderLock): string | undefined {
  const file = databaseFile(dataDir)
  const before = identityOf(file)
  const damaged = lock.isReadable ? undefined : `${file}.damaged-${Date.now()}`
  if (damaged === undefined) lock.fold()
  else for (const end of ['-wal', '-shm']) if (existsSync(file + end)) renameSync(file + end, damaged + end)
  removeOwner(file)
  renameSync(staging, readyFolder(dataDir))
  syncFolder(dataDir)
  // Another command may have put the restored database here already.
  if (damaged !== undefined && identityOf(file) === before) renameSync(file, damaged)
  finishRestore(dataDir)
  syncFolder(dataDir)
  return damaged
}

/**
 * Checks the database of a backup and prepares it for use. Every session gets a new epoch, because readers may have
 * seen later events, and their numbers will be used again. Access that was revoked since the backup remains revoked,
 * and invitations and decision links are removed. Returns the number of sessions.
 */
async function prepareDatabase(file: string, { records, people }: Revoked): Promise<number> {
  checkDatabase(file, migrations.at(-1)?.version ?? 0)
  const store = openSqliteTransfer({ file })
  try {
    const sessions = await store.beginEpochs()
    for (const { kind, id, at } of records) await store.retireAccessRecord(kind, id, at)
    for (const record of await store.accessRecords()) {
      // Somebody may have used the invitation since the backup, and an invitation works once.
      if (record.kind === 'invite') await store.removeAccessRecord('invite', record.id)
      const now = record.kind === 'person' && people.find(({ id }) => id === record.id)
      if (now) await store.putAccessRecord({ ...record, data: narrowed(record.data, now) })
    }
    // A decision link works once, and may have been used or revoked since the backup.
    await store.pruneDecisionLinks(Number.MAX_SAFE_INTEGER)
    await store.queueLedger([
      { at: Date.now(), kind: 'store.restored', subject: 'database', data: { sessions } },
    ])
    await store.finish()
    return sessions
  } finally {
    await store.close()
  }
}

type RecordData = Readonly<Record<string, unknown>>

/** A person of a backup, without rights that the person has lost since the backup. */
function narrowed(data: RecordData, { at, role }: Revoked['people'][number]): RecordData {
  const lower = allRoles.find((one) => one === data.role || one === role)
  return { ...data, ...defined({ role: lower }), ...(at !== null && { disabledAt: at }) }
}

function keepCurrent(dataDir: string, staging: string): string[] {
  const kept = backedUpFiles.filter(
    ({ name, keepsCurrent }) =>
      keepsCurrent && existsSync(join(dataDir, name)) && existsSync(join(staging, name)),
  )
  for (const { name } of kept) rmSync(join(staging, name))
  return kept.map(({ name }) => name)
}

/** Makes renames in a folder durable. */
function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r')
  fsyncSync(opened)
  closeSync(opened)
}
