import type { DecidedBy, VerifiedCall } from '../proof/call-list.ts'
import type { Finding, VerifiedLog } from '../proof/verify-log.ts'
import { oneLine } from './terminal/visible.ts'

type Shown = {
  readonly findings: readonly Finding[]
  readonly undecided: readonly VerifiedCall[]
  /** Whether the keys were given, and do not come from the export itself. */
  readonly isTrusted: boolean
  readonly missingInLedger?: readonly number[] | undefined
}

/** The report of `parley verify`. */
export function logLines(
  log: VerifiedLog,
  { findings, undecided, isTrusted, missingInLedger = [] }: Shown,
): string[] {
  const { sessionId, events, sealedTo, seals, keyIds, calls, redacted, isLate, forkedFrom, signedAnswers } =
    log
  const rest = events - sealedTo
  const lines = [
    `Session ${oneLine(sessionId)}: ${events} events, ${seals} seals, key ${keyIds.map((id) => oneLine(id)).join(', ') || 'none'}`,
    ...(forkedFrom
      ? [
          `Events 1 to ${forkedFrom.seq} are a copy of session ${oneLine(forkedFrom.sessionId)}, made when the session was forked.`,
        ]
      : []),
    ...(isLate ? ['A version of Parley without seals started the log. The first seal was added later.'] : []),
    ...redacted.map(
      ({ seq, was, reason }) => `Event ${seq} (${oneLine(was)}) was redacted: ${oneLine(reason)}`,
    ),
    ...(calls.length > 0 ? ['', 'Calls that ran:', ...calls.map(callLine)] : []),
    ...(signedAnswers > 0 ? [`Answers with a valid signature of a browser: ${signedAnswers}`] : []),
    ...(missingInLedger.length > 0
      ? [
          `Seals that the ledger does not have: ${missingInLedger.join(', ')}. They are newer than this copy of the ledger, or were never recorded.`,
        ]
      : []),
    '',
    ...findings.map(({ line, text }) => `Line ${line} ${text}`),
    ...undecided.map(({ seq, tool }) => `Event ${seq}: the call of ${oneLine(tool)} ran without a decision.`),
    findings.length > 0
      ? 'NOT VERIFIED: the file was changed, or does not belong to these keys.'
      : undecided.length > 0
        ? 'NOT VERIFIED: a call ran without a decision.'
        : `Verified up to event ${sealedTo}.${rest > 0 ? ` The last ${rest} events are not sealed yet.` : ''}`,
    ...(findings.length === 0 && !isTrusted
      ? [
          'The keys come from the export itself. To know who signed it, give the keys of the server with --key.',
        ]
      : []),
  ]
  // The file may come from an attacker, so its fields may contain control characters.
  return lines.map((line) => oneLine(line))
}

const decisions: Readonly<Record<DecidedBy, string>> = {
  person: 'allowed by a person',
  rule: 'allowed by a rule',
  mode: 'allowed by the mode',
  agent: 'approved by the agent itself; no rule refused it',
  reading: 'only reads; approved by the agent itself',
  outside: "ran in the agent's own program",
  nobody: 'WITHOUT A DECISION',
}

function callLine({ seq, tool, outcome, by, actor, ruleId, inputHash, signedBy }: VerifiedCall): string {
  const { person, device, token, link } = actor ?? {}
  const means = link ? `${link.name} ${link.id}` : (device ?? token)?.name
  const who = person ? ` (${person.name}${means === undefined ? '' : `, ${means}`})` : ''
  const facts = [
    `${decisions[by]}${who}`,
    ...(ruleId === undefined ? [] : [`rule ${ruleId}`]),
    ...(inputHash === undefined ? [] : [`input ${inputHash}`]),
    ...(signedBy === undefined ? [] : [`signed by ${signedBy}`]),
  ]
  return oneLine(`  ${seq}  ${tool}  ${outcome}  ${facts.join('; ')}`)
}
