import { closeSync, fstatSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/**
 * Describes the process that has a database open. A second process shows it in its error, and other programs use it to
 * find the process. It may be out of date: only SQLite's lock shows whether the database is open.
 */
export type OwnerInfo = Readonly<Record<string, string | number>>

export type OwnerRecord = {
  readonly info: OwnerInfo
  /** True if another user of this machine may have read or written the file. */
  readonly isExposed: boolean
}

/** Replaces the file, because an existing file may be readable by other users. */
export function writeOwner(file: string, info: OwnerInfo): void {
  try {
    removeOwner(file)
    writeFileSync(ownerFile(file), `${JSON.stringify(info)}\n`, { mode: 0o600, flag: 'wx' })
  } catch {
    // A full disk must not prevent opening a database. Without this file, commands cannot find the server.
  }
}

export function readOwner(file: string): OwnerRecord | undefined {
  let opened: number | undefined
  try {
    opened = openSync(ownerFile(file), 'r')
    const { uid, mode } = fstatSync(opened)
    const user = process.getuid?.()
    const isExposed = user !== undefined && (uid !== user || (mode & 0o077) !== 0)
    const info = JSON.parse(readFileSync(opened, 'utf8')) as OwnerInfo | null
    return info === null ? undefined : { info, isExposed }
  } catch {
    return undefined
  } finally {
    if (opened !== undefined) closeSync(opened)
  }
}

/**
 * Identifies a file independently of its path. A copy has another identity; a file in a renamed folder keeps its
 * identity. The owner file contains the identity of the database, so that an owner file which was copied with its
 * folder is recognised as stale.
 */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

export function removeOwner(file: string): void {
  rmSync(ownerFile(file), { force: true })
}

export function ownerFile(file: string): string {
  return `${file}.owner.json`
}
