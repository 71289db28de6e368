import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined, ExportProof, ParleyError } from '@parley/protocol'
import { type Keys, keysInText, keysOf } from '../../proof/keys.ts'
import { type LedgerHead, type VerifiedLedger, verifyLedger } from '../../proof/verify-ledger.ts'
import { type Finding, type SessionHead, type VerifiedLog, verifyLog } from '../../proof/verify-log.ts'
import type { Context } from '../context.ts'
import { logLines } from '../verified-text.ts'

export type VerifyOptions = {
  readonly key?: string
  readonly head?: string
  readonly ledger?: string
  readonly json?: boolean
}

/**
 * Checks an export of a session, or of the ledger. Needs no server and no data folder. The exit code is 1 if the file
 * was changed, or if a call ran without a decision.
 */
export function verify(file: string, options: VerifyOptions, context: Context): number {
  const lines = linesOf(resolve(context.cwd, file))
  const isLedger = /^\{"n":/.test(lines[0] ?? '')
  const head = options.head === undefined ? undefined : headOf(options.head)
  return isLedger ? checkLedger(lines, head, options, context) : checkExport(lines, head, options, context)
}

type Head = { readonly session?: SessionHead & { readonly id: string }; readonly ledger?: LedgerHead }

function checkExport(
  lines: string[],
  head: Head | undefined,
  options: VerifyOptions,
  context: Context,
): number {
  const proof = proofIn(lines)
  const events = proof ? lines.slice(0, -1) : lines
  const keys = givenKeys(options, context) ?? (proof && keysOf(proof.keys.map(({ publicKey }) => publicKey)))
  if (!keys)
    throw new ParleyError(
      'validation_error',
      'The export has no public keys. Give them with --key, or export again with --proof.',
    )
  const deviceKeys = proof && keysOf(proof.devices.map(({ publicKey }) => publicKey))
  const log = verifyLog(events, keys, { head: head?.session, ...(deviceKeys && { deviceKeys }) })
  const compared = comparedWithLedger(log, keys, head, options, context)
  const findings = [...log.findings, ...headFindings(log, head), ...compared.findings]
  const undecided = log.calls.filter(({ by }) => by === 'nobody')
  const isGood = findings.length + undecided.length === 0
  const isTrusted = options.key !== undefined
  const { output } = context
  const { missingInLedger } = compared
  if (options.json)
    output.out(
      `${JSON.stringify({ ...log, findings, ...defined({ missingInLedger }), isGood, keysAreGiven: isTrusted })}\n`,
    )
  else
    for (const line of logLines(log, { findings, undecided, isTrusted, missingInLedger }))
      output.out(`${line}\n`)
  return isGood ? 0 : 1
}

function headFindings({ sessionId, events }: VerifiedLog, head: Head | undefined): Finding[] {
  if (!head?.session || head.session.id === sessionId) return []
  return [{ line: events, text: `the head is of session ${head.session.id}, not of ${sessionId}` }]
}

type Compared = {
  readonly findings: readonly Finding[]
  /** The seals that follow the last seal in the ledger. Undefined if no ledger was given. */
  readonly missingInLedger?: readonly number[]
}

/** Compares the log with the ledger: the log must contain the last of its seals that the ledger has recorded. */
function comparedWithLedger(
  log: VerifiedLog,
  keys: Keys,
  head: Head | undefined,
  { ledger: file }: VerifyOptions,
  context: Context,
): Compared {
  if (file === undefined) {
    if (!head?.ledger) return { findings: [] }
    throw new ParleyError(
      'validation_error',
      'To check a head of the ledger, also give an export of the ledger with --ledger.',
    )
  }
  const ledger = verifyLedger(linesOf(resolve(context.cwd, file)), keys, head?.ledger)
  const findings = ledger.findings.map(({ line, text }) => ({
    line,
    text: `in the ledger, line ${line}: ${text}`,
  }))
  const last = ledger.sealed.get(log.sessionId)
  const known = last && log.sealed.find(({ hash }) => hash === last.hash)
  if (!last) findings.push({ line: 0, text: 'the ledger has no seal of this session' })
  else if (!known)
    findings.push({
      line: log.events,
      text: `the ledger has a seal up to event ${last.to} that the log does not have`,
    })
  const missing = log.sealed.filter(({ seq }) => seq > (known?.seq ?? 0))
  return { findings, missingInLedger: missing.map(({ seq }) => seq) }
}

function checkLedger(
  lines: string[],
  head: Head | undefined,
  options: VerifyOptions,
  context: Context,
): number {
  const keys = givenKeys(options, context)
  if (!keys)
    throw new ParleyError(
      'validation_error',
      'Give the public keys with --key. "parley audit keys" prints them.',
    )
  const ledger = verifyLedger(lines, keys, head?.ledger)
  const { findings, entries } = ledger
  if (options.json) context.output.out(`${JSON.stringify(plain(ledger))}\n`)
  else if (findings.length === 0) context.output.out(`The ledger is intact: ${entries} entries.\n`)
  else for (const { line, text } of findings) context.output.out(`Line ${line}: ${text}\n`)
  return findings.length === 0 ? 0 : 1
}

function plain({ sealed, deleted, ...ledger }: VerifiedLedger) {
  return { ...ledger, isGood: ledger.findings.length === 0 }
}

function proofIn(lines: readonly string[]): ExportProof | undefined {
  const last = lines.at(-1) ?? ''
  return last.startsWith('{"type":"parley.proof"') ? ExportProof.parse(JSON.parse(last)) : undefined
}

function givenKeys({ key }: VerifyOptions, { cwd }: Context): Keys | undefined {
  return key === undefined ? undefined : keysInText(textOf(resolve(cwd, key)))
}

/** `<session>:<seq>:<hash>` or `<n>:<hash>`, as `parley audit head` prints them. */
function headOf(text: string): Head {
  const [, id, number, hash] = /^(?:(ses_\w+):)?(\d+):([\w-]{43})$/.exec(text.trim()) ?? []
  if (number === undefined || hash === undefined)
    throw new ParleyError(
      'validation_error',
      '--head takes the output of "parley audit head", such as 12:4f2b… or ses_…:12:4f2b….',
    )
  if (id === undefined) return { ledger: { n: Number(number), hash } }
  return { session: { id, seq: Number(number), hash } }
}

function linesOf(file: string): string[] {
  const text = textOf(file)
  return (text.endsWith('\n') ? text.slice(0, -1) : text)
    .split('\n')
    .filter((line, _, all) => line !== '' || all.length > 1)
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    throw new ParleyError(
      'validation_error',
      `${file} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}.`,
      { cause: thrown },
    )
  }
}
