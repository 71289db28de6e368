import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/**
 * Describes the process that holds a database, for the error that a second process gets. It is only information;
 * SQLite holds the lock.
 */
export type OwnerInfo = Readonly<Record<string, string | number>>

export function writeOwner(file: string, info: OwnerInfo): void {
  try {
    writeFileSync(ownerFile(file), `${JSON.stringify(info)}\n`, { mode: 0o600 })
  } catch {
    // A full disk must not keep a database from opening. Without this file, only an error message has less detail.
  }
}

export function readOwner(file: string): { info: OwnerInfo; words: string } | undefined {
  try {
    const info = JSON.parse(readFileSync(ownerFile(file), 'utf8')) as OwnerInfo
    const { pid, startedAt, url } = info
    return {
      info,
      words: [`pid ${pid}`, ...(url === undefined ? [] : [url]), `since ${startedAt}`].join(', '),
    }
  } catch {
    return undefined
  }
}

/**
 * The identity of a file, independent of its path. A copy is another file; a file in a renamed folder is the same. It
 * is stored in the owner file, because that is copied along with the folder.
 */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

export function removeOwner(file: string): void {
  rmSync(ownerFile(file), { force: true })
}

function ownerFile(file: string): string {
  return `${file}.owner.json`
}
