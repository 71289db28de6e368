import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@parley/client'
import type { LedgerEntry } from '@parley/protocol'
import { createHome } from '../../packages/server/src/cli/program-under-test.ts'
import { ledgerLine } from '../../packages/server/src/proof/verify-ledger.ts'
import type { VerifiedLog } from '../../packages/server/src/proof/verify-log.ts'

/** The result of `parley verify` for a session, with the keys and the ledger of its server. */
export type Verified = VerifiedLog & {
  readonly exitCode: number | null
  readonly isGood: boolean
  /** The seals of the log that the ledger does not vouch for. */
  readonly missingInLedger: readonly number[]
}

/** The lines of an export with a proof: the events, and the keys as the last line. */
export async function exportOf(client: Client, id: string): Promise<string> {
  return client.call('exportSession', { params: { id }, query: { proof: 'true' } })
}

/** Exports a session and the ledger, and verifies both with the program. */
export async function verified(client: Client, id: string): Promise<Verified> {
  await using home = createHome()
  const file = (name: string, text: string) => {
    const path = join(home.folder, name)
    writeFileSync(path, text)
    return path
  }
  const session = file('session.jsonl', await exportOf(client, id))
  const lines = (await ledgerOf(client)).map((entry) => `${ledgerLine(entry)}\n`)
  const ledger = file('ledger.jsonl', lines.join(''))
  const { keys } = await client.call('listSealKeys')
  const known = file('keys.txt', keys.map(({ publicKey }) => `${publicKey}\n`).join(''))
  const whole = await home.run(['verify', ledger, '--key', known])
  if (whole.exitCode !== 0) throw new Error(`The ledger is not intact: ${whole.stdout}${whole.stderr}`)
  const { exitCode, stdout, stderr } = await home.run([
    ...['verify', session, '--key', known, '--ledger', ledger, '--json'],
  ])
  if (stdout === '') throw new Error(`parley verify ended with ${exitCode}: ${stderr}`)
  return { exitCode, ...(JSON.parse(stdout) as Omit<Verified, 'exitCode'>) }
}

export async function ledgerOf(client: Client, subject?: string): Promise<LedgerEntry[]> {
  const found: LedgerEntry[] = []
  for (;;) {
    const query = { after: found.at(-1)?.n ?? 0, limit: 1000, ...(subject !== undefined && { subject }) }
    const { entries } = await client.call('listAudit', { query })
    if (entries.length === 0) return found
    found.push(...entries)
  }
}
