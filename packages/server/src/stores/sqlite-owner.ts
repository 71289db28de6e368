import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/** Says who holds a database, for the message that a second one gets. The lock itself is SQLite's; this file decides nothing. */
export type OwnerInfo = Readonly<Record<string, string | number>>

export function writeOwner(file: string, info: OwnerInfo): void {
  try {
    writeFileSync(ownerFile(file), `${JSON.stringify(info)}\n`, { mode: 0o600 })
  } catch {
    // A full disk must not keep a database from opening: the message is poorer, that is all.
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
 * Which file this is, whatever its path: a copy is another one, a renamed folder is the same. It stands in the owner file,
 * because that is copied along with the folder.
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
