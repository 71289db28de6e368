import { resolve } from 'node:path'
import { Command, CommanderError } from 'commander'
import { version } from '../version.ts'
import { addAgents, agentVerbs } from './agents-program.ts'
import { addArranging, addCompletion, addImport, addRules } from './arrange-program.ts'
import { createCommandLine } from './command-line.ts'
import type { Context } from './context.ts'
import { addDevices } from './devices-program.ts'
import { list } from './list-option.ts'
import { createOutput } from './terminal/output.ts'
import { tokenInSight } from './token-in-sight.ts'

/** The commands and their options. Their code is in `commands/` and is loaded when it is needed. */

export async function runProgram(process: NodeJS.Process): Promise<never> {
  const context = contextOf(process)
  const { output } = context
  const args = withDefaultCommand(process.argv.slice(2))
  let exitCode = 0
  try {
    const program = createProgram(context, (code) => {
      exitCode = code
    })
    await program.parseAsync(withKnownHelp(program, args), { from: 'user' })
  } catch (thrown) {
    exitCode = await report(thrown, args, context)
  }
  await output.flush()
  process.exit(exitCode)
}

function contextOf(process: NodeJS.Process): Context {
  const { env, stdin } = process
  const isNpm = env.npm_lifecycle_event !== undefined
  const isCheckout = env.npm_lifecycle_event === 'start' || process.execArgv.includes('--conditions=source')
  const cwd = (isNpm && env.INIT_CWD) || process.cwd()
  const invocation = isCheckout ? 'npm start --' : 'parley'
  const dataDir = givenDataDir(process.argv.slice(2))
  return {
    env,
    cwd,
    invocation,
    commandLine: createCommandLine({ invocation, dataDir: dataDir && resolve(cwd, dataDir) }),
    stdin,
    output: createOutput(process),
  }
}

function givenDataDir(args: readonly string[]): string | undefined {
  const joined = args.findLast((arg) => arg.startsWith('--data-dir='))
  const index = args.lastIndexOf('--data-dir')
  return index >= 0 ? args[index + 1] : joined?.slice('--data-dir='.length)
}

/** `parley --port 0` is `parley serve --port 0`. */
function withDefaultCommand(args: string[]): string[] {
  const [first] = args
  const isOfProgram = first !== undefined && ['-h', '--help', '-V', '--version'].includes(first)
  return first === undefined || (first.startsWith('-') && !isOfProgram) ? ['serve', ...args] : args
}

/** `help nosuch` is refused like `nosuch`, with the commands of similar spelling. */
function withKnownHelp(program: Command, args: string[]): string[] {
  const [first, word] = args
  if (first !== 'help' || word === undefined || word.startsWith('-')) return args
  const isKnown = word === 'help' || program.commands.some((command) => command.name() === word)
  return isKnown ? args : [word]
}

async function report(thrown: unknown, args: string[], context: Context): Promise<number> {
  const { output, env } = context
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return 0
    output.err(`${usageLine(thrown, args, context)}\n`)
    return 2
  }
  const { failureOf } = await import('./failure.ts')
  const verbose = args.includes('--verbose') || /^(debug|trace)$/.test(env.PARLEY_LOG_LEVEL ?? '')
  const { line, exitCode } = failureOf(thrown, verbose)
  output.err(`${line}\n`)
  return exitCode
}

function usageLine(
  { message, code }: CommanderError,
  [command = '', word = '']: string[],
  { invocation }: Context,
): string {
  const whole = command === 'agents' && agentVerbs.includes(word) ? `${command} ${word}` : command
  const words = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
  if (code === 'commander.excessArguments' && command === 'serve') {
    return `parley: ${words} Options stand behind the command, as in: ${invocation} sessions --data-dir <folder>`
  }
  if (code === 'commander.excessArguments' && whole === 'agents') {
    return `parley: agents cannot "${word}"; it can ${agentVerbs.slice(0, -1).join(', ')} and ${agentVerbs.at(-1)}. See: ${invocation} agents --help`
  }
  const isCommand = code !== 'commander.unknownCommand' && code !== 'commander.help'
  return `parley: ${words.replace(/([^.)?])$/, '$1.')} See: ${invocation} ${isCommand ? `${whole} ` : ''}--help`
}

function createProgram(context: Context, done: (exitCode: number) => void): Command {
  const program = new Command(context.invocation)
    .description('The session server for coding agents. Without a command it serves.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .enablePositionalOptions()
    .hook('preAction', (_, command) => warnOfToken(command, context))
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeOut: context.output.out, writeErr: context.output.err })
    .addHelpText(
      'after',
      examples(context, 'parley', 'parley run demo "help"', 'parley sessions', 'parley help run'),
    )
    .addHelpText(
      'after',
      `
Settings come from options, then PARLEY_HOST, PARLEY_PORT, PARLEY_DATA_DIR, PARLEY_TOKEN and
PARLEY_LOG_LEVEL, then config.json in the data folder, then defaults (127.0.0.1, 4747, ~/.parley).`,
    )
  const adder =
    (parent: Command): Add =>
    (name, description, ...lines) =>
      withCommonOptions(parent.command(name))
        .description(description)
        .addHelpText('after', examples(context, ...lines))
  const add = adder(program)
  const finish = async (work: Promise<number>) => done(await work)
  addServe(add, context, finish)
  addRun(add, context, finish)
  addAcp(add, context, finish)
  addSessionCommands(add, context, finish)
  addArranging(add, context, finish)
  addRules(add, adder, context, finish)
  addAgents(add, adder, context, finish)
  addDevices(add, adder, context, finish)
  addCareCommands(add, context, finish)
  addCompletion(program, add, context, finish)
  return program
}

/** The server writes this warning to its log instead. */
function warnOfToken(command: Command, { output }: Context): void {
  if (command.opts().token !== undefined && command.name() !== 'serve')
    output.err(`parley: ${tokenInSight}\n`)
}

/** The lines are examples. */
export type Add = (name: string, description: string, ...lines: string[]) => Command
export type Finish = (work: Promise<number>) => Promise<void>

function withCommonOptions(command: Command): Command {
  return command
    .option('--data-dir <folder>', 'the folder of sessions, token and config.json (default: ~/.parley)')
    .option('--token-file <file>', 'a file with the token, instead of the one in the data folder')
    .option('--token <token>', 'the token itself; others on this machine can see it')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent')
    .option('--verbose', 'log more, and show where an error came from')
    .helpOption('-h, --help', 'show this help')
}

function addServe(add: Add, context: Context, finish: Finish): void {
  add(
    'serve',
    'run the server (the default)',
    'parley',
    'parley serve --port 0 --json',
    'parley --data-dir ./parley-data',
  )
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'the port; 0 picks a free one (default: 4747)')
    .option('--allow-remote', 'confirm that a non-loopback --host is intended; needs a token of your own')
    .addOption(list('--allow-origin <origin>', 'allow web pages of this origin; repeatable'))
    .addOption(list('--allow-host <name>', 'accept this Host name too; repeatable'))
    .option('--json', 'print one line {"url","token","pid"} instead of the greeting and the link')
    .addHelpText(
      'after',
      `
The last line on stdout is a link that signs a browser in. Logs go to stderr, as JSON unless it is a terminal.
SIGINT or SIGTERM stops it. Open requests are kept; answer them after the next start.`,
    )
    .action((options) => finish(import('./commands/serve.ts').then(({ serve }) => serve(options, context))))
}

function addRun(add: Add, context: Context, finish: Finish): void {
  add(
    'run',
    'send one prompt to an agent and show what it does',
    'parley run demo "show a permission"',
    'git diff | parley run demo - --json',
    'parley run demo "and now?" --session last',
  )
    .argument('<agent>', `which agent, e.g. demo; see: ${context.invocation} agents`)
    .argument('[prompt]', 'what to do; "-", or nothing and a pipe, reads it from stdin')
    .option('--cwd <folder>', 'the folder to work in (default: this one)')
    .option('--model <model>', 'which model')
    .option('--mode <mode>', 'ask, accept-edits, read-only, plan or bypass (allow everything)')
    .option('--title <title>', 'the title of the new session')
    .option('--trust', `trust the session's folder from now on; see: ${context.invocation} trust --help`)
    .addOption(
      list('--env <name>', "give the new session's agent this variable of your environment; repeatable"),
    )
    .option('--session <session>', 'continue this session: its id, the start of it, or "last"')
    .option('--on-permission <what>', 'ask, deny or allow (default: ask on a terminal, else deny)')
    .option('--timeout <time>', 'stop the turn after, e.g., 90s or 5m')
    .option('--json', 'print every event as a line of JSON, and nothing else, to stdout')
    .option('--deltas', 'with --json: the live deltas too')
    .addHelpText(
      'after',
      `
The agent's text goes to stdout, everything else to stderr. Ctrl-C stops the turn; Ctrl-C twice exits at once.
Exit codes: 0 completed, 1 failed, 2 usage error, 3 outcome unknown, 130 cancelled (also by --timeout).
A denied permission is not a failure: the exit code is that of the turn.
If the agent cannot be started, the session and its prompt are kept, and the output says how to show it and retry.`,
    )
    .action((agent, prompt, options) =>
      finish(import('./commands/run.ts').then(({ run }) => run(agent, prompt, options, context))),
    )
}

function addAcp(add: Add, context: Context, finish: Finish): void {
  add(
    'acp',
    'serve an agent to an editor over the Agent Client Protocol (stdin and stdout)',
    'parley acp --agent claude',
  )
    .requiredOption('--agent <agent>', `which agent the editor drives; see: ${context.invocation} agents`)
    .option('--mode <mode>', 'the mode of new sessions: ask, accept-edits, read-only, plan or bypass')
    .option('--model <model>', 'the model of new sessions')
    .addHelpText(
      'after',
      `
If a server runs on the data folder, it connects to it: the editor's sessions are then live in every other client too,
and turns continue when the editor leaves. Otherwise it runs them itself, and they end with the editor. Logs go to stderr.`,
    )
    .action((options) => finish(import('./commands/acp.ts').then(({ acp }) => acp(options, context))))
}

const session = ['<session>', 'its id, the start of it, or "last"'] as const

function addSessionCommands(add: Add, context: Context, finish: Finish): void {
  add('attach', 'follow a session on the terminal, answer its requests, send prompts', 'parley attach last')
    .argument(...session)
    .option('--tail <events>', 'how many of the last events to show first (default: 60)')
    .addHelpText(
      'after',
      `
A line you type is a prompt. Ctrl-C or Ctrl-D leaves, also during a question; it stops nothing and answers nothing.
The session continues on the server. If no server runs, a running turn ends when you leave.
To stop its turn, in another terminal: ${context.invocation} cancel <session>`,
    )
    .action((id, options) =>
      finish(import('./commands/attach.ts').then(({ attach }) => attach(id, options, context))),
    )
  add('sessions', 'list sessions', 'parley sessions --waiting', 'parley sessions --json | jq .id')
    .option('--waiting', 'the open requests of all sessions')
    .option('--all', 'include archived sessions')
    .option('--query <text>', 'only sessions with this text in their title')
    .option('--agent <agent>', 'only sessions of this agent')
    .option('--status <status>', 'idle, working, waiting or parked')
    .option('--limit <number>', 'the maximum number of sessions (default: 50)')
    .option('--json', 'one session (with --waiting: one request) per line, as JSON')
    .addHelpText(
      'after',
      `
Status: idle, nothing runs; failed or unknown, nothing runs and the last turn ended so; working, a turn runs; waiting,
a turn waits for your answer; parked, a turn waits for your answer without a process. On a terminal ids are shortened
to a unique start.`,
    )
    .action((options) =>
      finish(import('./commands/sessions.ts').then(({ sessions }) => sessions(options, context))),
    )
  add('show', 'show the state and the last blocks of a session', 'parley show last')
    .argument(...session)
    .option('--tail <blocks>', 'how many blocks (default: 50)')
    .option('--json', 'as JSON')
    .action((id, options) =>
      finish(import('./commands/show.ts').then(({ show }) => show(id, options, context))),
    )
  add(
    'export',
    'print a whole session, or write it to a file',
    'parley export last --as html -o session.html',
  )
    .argument(...session)
    .option(
      '--as <format>',
      'jsonl, markdown, html, ui-messages, incoming-messages or run-events (default: jsonl)',
    )
    .option('-o, --output <file>', 'the file to write (default: stdout)')
    .addHelpText(
      'after',
      `
jsonl is the log itself, one event per line; markdown and html are for reading. ui-messages are messages of the AI SDK;
incoming-messages and run-events are formats of other programs; see docs/chat.md.`,
    )
    .action((id, options) =>
      finish(import('./commands/export.ts').then(({ exportSession }) => exportSession(id, options, context))),
    )
  add('cancel', 'stop the running turn of a session, and pause its queue', 'parley cancel last')
    .argument(...session)
    .option('--tasks', 'stop its background tasks instead')
    .option('--json', 'print {"sessionId","paused"} as JSON')
    .action((id, options) =>
      finish(import('./commands/cancel.ts').then(({ cancel }) => cancel(id, options, context))),
    )
  add('resume', 'run the prompts that were paused when a turn was stopped', 'parley resume last')
    .argument(...session)
    .action((id, options) =>
      finish(import('./commands/cancel.ts').then(({ resume }) => resume(id, options, context))),
    )
  add('release', "close a session's agent, to continue in the agent's own program", 'parley release last')
    .argument(...session)
    .action((id, options) =>
      finish(import('./commands/release.ts').then(({ release }) => release(id, options, context))),
    )
  add('delete', 'delete a session and all its events', 'parley delete ses_01k2 --yes')
    .argument(...session)
    .option('--yes', 'do not ask')
    .option('--json', 'print {"sessionId"} as JSON')
    .action((id, options) =>
      finish(import('./commands/delete.ts').then(({ deleteSession }) => deleteSession(id, options, context))),
    )
}

function addCareCommands(add: Add, context: Context, finish: Finish): void {
  addImport(add, context, finish)
  add(
    'trust',
    "let agents load a folder's settings, hooks and MCP servers",
    'parley trust .',
    'parley trust ~/code/app',
    'parley trust --list',
    'parley trust --remove ~/code/app',
  )
    .argument('[folder]', 'the folder; all folders inside it are included')
    .option('--list', 'list the trusted folders')
    .option('--remove', 'revoke the trust of the folder')
    .option('--json', 'one folder per line, as JSON')
    .addHelpText(
      'after',
      `
Until a folder is trusted, agents work in it with your own settings only. A decision takes effect when an
agent next starts: an idle agent restarts with its next prompt, a running turn continues as it is.`,
    )
    .action((folder, options) =>
      finish(import('./commands/trust.ts').then(({ trust }) => trust(folder, options, context))),
    )
  add(
    'env',
    'set environment variables for agents, for a folder and all folders inside it or for one session',
    'parley env',
    'parley env GITHUB_TOKEN --folder ~/code/app',
    'parley env NPM_TOKEN --inherit',
    'parley env GITHUB_TOKEN --remove',
  )
    .argument('[name]', 'the variable; without it, variables are listed (with --remove: all are removed)')
    .option('--folder <folder>', 'for the agents of all sessions in this folder (default: this one)')
    .option('--session <session>', 'for the agent of this session: its id, the start of it, or "last"')
    .option('--inherit', 'take the value from this environment, not from stdin')
    .option('--remove', 'remove it')
    .option('--json', 'one place per line, as JSON')
    .addHelpText(
      'after',
      `
The value is read from stdin; a terminal prompts for it without showing it. It is stored in the data folder and passed
to agents only: no command, reply or export shows it. Variables that Parley depends on (PATH, HOME, NODE_OPTIONS, …) are refused.`,
    )
    .action((name, options) =>
      finish(import('./commands/env.ts').then(({ env }) => env(name, options, context))),
    )
  add('doctor', 'check this machine and the data folder; exit code 1 if something fails', 'parley doctor')
    .option('--host <address>', 'check this address (default: 127.0.0.1)')
    .option('--port <port>', 'check this port (default: 4747)')
    .option('--json', 'one check per line, as JSON')
    .action((options) =>
      finish(import('./commands/doctor.ts').then(({ doctor }) => doctor(options, context))),
    )
  add(
    'token',
    'print the token that clients send',
    'parley token --link',
    'curl -H "Authorization: Bearer $(parley token)" http://127.0.0.1:4747/api/sessions',
  )
    .option('--link', 'print a new one-time sign-in link of the running server instead')
    .option('--rotate', 'generate a new token; a running server must be restarted')
    .option('--json', 'print {"token"}, or with --link {"url"}, as JSON')
    .action((options) => finish(import('./commands/token.ts').then(({ token }) => token(options, context))))
}

/** A checkout has no `parley` on the PATH, and npm prints what it starts unless it is told not to. */
function examples({ invocation }: Context, ...lines: string[]): string {
  const commandLine = createCommandLine({ invocation })
  const here = lines.map((line) => {
    const program = commandLine('', { quiet: /[|(]/.test(line) }).trimEnd()
    return line.replace(/(?<![\w./-])parley(?![\w-])/, () => program)
  })
  return `\nExamples:\n${here.map((line) => `  $ ${line}`).join('\n')}`
}
