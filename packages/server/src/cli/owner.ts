import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { readOwner as readRecord } from '../stores/sqlite-owner.ts'
import { databaseFile } from './configuration.ts'

/** The owner record of a data folder. The process that wrote it may have ended long ago. */
export type Owner = {
  readonly pid: number
  readonly url?: string
  /** Identifies the run of the server that wrote the record. The health route of that run returns the same value. */
  readonly instance?: string
  /** The key with which that run proves that it wrote the record. Absent in records of older versions. */
  readonly secret?: string
  /** The identity of the database file that the process has open. */
  readonly database?: string
  /** True if another user may have read or written the record. */
  readonly isExposed: boolean
}

export function readOwner(dataDir: string): Owner | undefined {
  const record = readRecord(databaseFile(dataDir))
  const pid = record?.info.pid
  if (!record || typeof pid !== 'number') return undefined
  const texts = Object.entries(record.info).filter(([, value]) => typeof value === 'string')
  return { ...Object.fromEntries(texts), pid, isExposed: record.isExposed }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A record that is complete and private, so that its server can prove that it wrote the record. */
export type ProvableOwner = Owner & Required<Pick<Owner, 'url' | 'instance' | 'secret' | 'database'>>

export function isProvable(owner: Owner): owner is ProvableOwner {
  return !owner.isExposed && [owner.url, owner.instance, owner.secret, owner.database].every(Boolean)
}

/** A challenge or a secret: 32 random bytes as base64url. */
export function randomValue(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Proves that a server wrote the owner record. The record of a server that crashed stays behind, and another user's
 * program may then listen on the recorded port and answer with the recorded instance, which is public. That program
 * does not know the secret. It cannot pass the challenge on to the run that wrote the record, because the port is
 * free only after that run has ended. (A name may lead to another address while the run still listens, so the record
 * has the loopback address if there is one.) The proof names the instance and the URL, so the answer of a run that
 * listens elsewhere is refused too.
 */
export function proofOf(
  { secret, instance, url }: Pick<ProvableOwner, 'secret' | 'instance' | 'url'>,
  challenge: string,
): string {
  const text = ['parley owner proof 1', instance, url, challenge].join('\n')
  return createHmac('sha256', secret).update(text).digest('base64url')
}

export function isProof(given: unknown, owner: ProvableOwner, challenge: string): boolean {
  if (typeof given !== 'string') return false
  const [actual, expected] = [Buffer.from(given), Buffer.from(proofOf(owner, challenge))]
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}
