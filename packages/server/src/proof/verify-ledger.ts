import { hash } from 'node:crypto'
import { LedgerEntry, ledgerText } from '@parley/protocol'
import type { Keys } from './keys.ts'
import { isSignedBy } from './seal-key.ts'
import type { Finding } from './verify-log.ts'

export type LedgerHead = { readonly n: number; readonly hash: string }

export type VerifiedLedger = {
  readonly entries: number
  readonly head?: LedgerHead
  /** The last seal of each session in the ledger. */
  readonly sealed: ReadonlyMap<string, { readonly to: number; readonly hash: string }>
  readonly deleted: ReadonlySet<string>
  readonly findings: readonly Finding[]
}

/** Checks the lines of an exported ledger. `head` is an entry that the ledger must contain. */
export function verifyLedger(lines: Iterable<string>, keys: Keys, head?: LedgerHead): VerifiedLedger {
  const findings: Finding[] = []
  const sealed = new Map<string, { to: number; hash: string }>()
  const deleted = new Set<string>()
  const hashes = new Map<number, string>()
  let prev = ''
  let line = 0
  for (const text of lines) {
    line++
    const entry = entryIn(text)
    if (!entry) {
      findings.push({ line, text: 'is not an entry of the ledger' })
      continue
    }
    for (const problem of problemsOf(entry, { n: line, prev }, keys)) findings.push({ line, text: problem })
    prev = entry.hash
    hashes.set(entry.n, entry.hash)
    const { to, hash } = (entry.data ?? {}) as { to: number; hash: string }
    if (entry.kind === 'session.sealed') sealed.set(entry.subject, { to, hash })
    if (entry.kind === 'session.deleted') deleted.add(entry.subject)
  }
  if (line === 0) findings.push({ line, text: 'the file has no entries' })
  if (head && hashes.get(head.n) !== head.hash)
    findings.push({
      line,
      text: `the ledger does not have the entry ${head.n}:${head.hash}: its end was cut off or replaced`,
    })
  return { entries: line, ...(line > 0 && { head: { n: line, hash: prev } }), sealed, deleted, findings }
}

function entryIn(text: string): LedgerEntry | undefined {
  try {
    const entry = LedgerEntry.strict().safeParse(JSON.parse(text)).data
    // The text of an entry is canonical: a line with another text is invalid.
    return entry && ledgerLine(entry) === text ? entry : undefined
  } catch {
    return undefined
  }
}

/** An entry as a line of an export. */
export function ledgerLine(entry: LedgerEntry): string {
  const { hash, signature } = entry
  return `${ledgerText(entry).slice(0, -1)},"hash":${JSON.stringify(hash)},"signature":${JSON.stringify(signature)}}`
}

function problemsOf(
  entry: LedgerEntry,
  expected: { readonly n: number; readonly prev: string },
  keys: Keys,
): string[] {
  const text = ledgerText(entry)
  const key = keys.get(entry.keyId)
  return [
    ...(entry.n === expected.n ? [] : [`is entry ${entry.n}, but entry ${expected.n} must follow`]),
    ...(entry.prev === expected.prev ? [] : [`(entry ${entry.n}) does not follow the entry before it`]),
    ...(entry.hash === hash('sha256', text, 'base64url') ? [] : [`(entry ${entry.n}) was changed`]),
    ...(key && isSignedBy(key, text, entry.signature)
      ? []
      : [`(entry ${entry.n}) has no valid signature of a known key`]),
  ]
}
