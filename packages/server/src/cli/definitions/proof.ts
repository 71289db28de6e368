import { type Registry, sessionArgument } from './registry.ts'

/** The commands for seals and the ledger. */
export function addProofCommands(registry: Registry): void {
  addVerify(registry)
  addAudit(registry)
  addRedact(registry)
}

function addVerify({ add, context, run }: Registry): void {
  add(
    'verify',
    'check that an export was not changed, and list the tool calls that ran, with the decision on each',
    'parley verify session.jsonl --key keys.txt',
    'parley verify session.jsonl --key keys.txt --head ses_01k2…:12:4f2b…',
    'parley verify ledger.jsonl --key keys.txt',
  )
    .argument('<file>', 'an export of a session as jsonl, or of the ledger')
    .option('--key <file>', `the public keys of the server, as printed by: ${context.invocation} audit keys`)
    .option(
      '--head <head>',
      `a head that the log or the ledger must contain, as printed by: ${context.invocation} audit head`,
    )
    .option('--ledger <file>', 'an export of the ledger; the log must contain the last seal that it names')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Works offline, without a server and its data. Exit codes: 0 verified; 1 changed, or a call ran without a decision;
2 usage error.`,
    )
    .action(run(async () => (await import('../commands/verify.ts')).verify))
}

function addAudit({ add: addToProgram, under, run }: Registry): void {
  const load = () => import('../commands/audit.ts')
  const audit = addToProgram(
    'audit',
    'print the head, the entries or the keys of the ledger',
    'parley audit head',
    'parley audit head last',
    'parley audit export -o ledger.jsonl',
    'parley audit keys > keys.txt',
  )
    .enablePositionalOptions()
    .helpCommand(false)
  const add = under(audit)
  add('head', 'print the last entry of the ledger, or the last seal of a session', 'parley audit head')
    .argument('[session]', 'the id of the session, a prefix of the id, or "last"')
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await load()).auditHead))
  add('export', 'print the whole ledger, one entry per line', 'parley audit export -o ledger.jsonl')
    .option('-o, --output <file>', 'the file to write (default: stdout)')
    .action(run(async () => (await load()).auditExport))
  add('keys', 'print the public keys that seals and entries are verified with', 'parley audit keys').action(
    run(async () => (await load()).auditKeys),
  )
}

function addRedact({ add, run }: Registry): void {
  add(
    'redact',
    'remove the content of one event for good; the seals of the log remain valid',
    'parley redact last 12 --reason "a password" --yes',
  )
    .argument(...sessionArgument)
    .argument('<seq>', 'the number of the event, which is its line in an export as jsonl')
    .option('--reason <text>', 'the reason, which stays in the log')
    .option('--yes', 'confirm: a redaction cannot be undone')
    .option('--json', 'print {"sessionId","seq"} as JSON')
    .action(run(async () => (await import('../commands/redact.ts')).redact))
}
