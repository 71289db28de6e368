import { Command, CommanderError, Option } from 'commander'
import type { Context } from './context.ts'
import { createOutput } from './terminal/output.ts'
import { version } from './version.ts'

/** The commands and their options. What they do is in `commands/`, loaded when it is needed. */

export async function runProgram(process: NodeJS.Process): Promise<never> {
  const context = contextOf(process)
  const { output } = context
  const args = withDefaultCommand(process.argv.slice(2))
  let exitCode = 0
  try {
    await createProgram(context, (code) => {
      exitCode = code
    }).parseAsync(args, { from: 'user' })
  } catch (thrown) {
    exitCode = await report(thrown, args, context)
  }
  await output.flush()
  process.exit(exitCode)
}

function contextOf(process: NodeJS.Process): Context {
  const { env, stdin } = process
  const isNpm = env.npm_lifecycle_event !== undefined
  const isCheckout = env.npm_lifecycle_event === 'start' || process.argv[1]?.endsWith('.ts')
  return {
    env,
    cwd: (isNpm && env.INIT_CWD) || process.cwd(),
    invocation: isCheckout ? 'npm start --' : 'parley',
    stdin,
    output: createOutput(process),
  }
}

/** `parley --port 0` is `parley serve --port 0`. */
function withDefaultCommand(args: string[]): string[] {
  const [first] = args
  const isOfProgram = first !== undefined && ['-h', '--help', '-V', '--version'].includes(first)
  return first === undefined || (first.startsWith('-') && !isOfProgram) ? ['serve', ...args] : args
}

async function report(thrown: unknown, args: string[], { output, env }: Context): Promise<number> {
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return 0
    output.err(`${usageLine(thrown, args)}\n`)
    return 2
  }
  const { failureOf } = await import('./failure.ts')
  const verbose = args.includes('--verbose') || /^(debug|trace)$/.test(env.PARLEY_LOG_LEVEL ?? '')
  const { line, exitCode } = failureOf(thrown, verbose)
  output.err(`${line}\n`)
  return exitCode
}

function usageLine({ message, code }: CommanderError, [command = '']: string[]): string {
  const words = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
  if (code === 'commander.excessArguments' && command === 'serve') {
    return `parley: ${words} Options stand behind the command, as in: parley sessions --data-dir <folder>`
  }
  const isCommand = code !== 'commander.unknownCommand' && code !== 'commander.help'
  return `parley: ${words.replace(/([^.)?])$/, '$1.')} See: parley ${isCommand ? `${command} ` : ''}--help`
}

function createProgram(context: Context, done: (exitCode: number) => void): Command {
  const program = new Command('parley')
    .description('The session server for coding agents. Without a command it serves.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeOut: context.output.out, writeErr: context.output.err })
    .addHelpText('after', examples('parley', 'parley run demo "help"', 'parley sessions', 'parley help run'))
    .addHelpText(
      'after',
      `
Settings come from options, then PARLEY_HOST, PARLEY_PORT, PARLEY_DATA_DIR, PARLEY_TOKEN and
PARLEY_LOG_LEVEL, then config.json in the data folder, then defaults (127.0.0.1, 4747, ~/.parley).`,
    )
  const add = (name: string, description: string) =>
    withCommonOptions(program.command(name)).description(description)
  const finish = async (work: Promise<number>) => done(await work)
  addServe(add, context, finish)
  addRun(add, context, finish)
  addSessionCommands(add, context, finish)
  addCareCommands(add, context, finish)
  return program
}

type Add = (name: string, description: string) => Command
type Finish = (work: Promise<number>) => Promise<void>

function withCommonOptions(command: Command): Command {
  return command
    .option('--data-dir <folder>', 'where sessions, the token and config.json are (default: ~/.parley)')
    .option('--token <token>', 'the token, instead of the one in the data folder')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent')
    .option('--verbose', 'log more, and show where an error came from')
    .helpOption('-h, --help', 'show this help')
}

function addServe(add: Add, context: Context, finish: Finish): void {
  add('serve', 'run the server (the default)')
    .option('--host <address>', 'where to listen (default: 127.0.0.1)')
    .option('--port <port>', 'the port; 0 picks a free one (default: 4747)')
    .option('--allow-remote', 'mean it when --host can be reached from other machines; needs --token')
    .addOption(list('--allow-origin <origin>', 'a web page of this origin may use the server; repeatable'))
    .addOption(list('--allow-host <name>', 'answer to this Host name too; repeatable'))
    .option('--json', 'print one line {"url","token","pid"} instead of the greeting and the link')
    .addHelpText(
      'after',
      examples('parley', 'parley serve --port 0 --json', 'parley --data-dir ./parley-data'),
    )
    .addHelpText(
      'after',
      `
The last line on stdout is a link that signs a browser in. Logs go to stderr, as JSON unless it is a terminal.
SIGINT or SIGTERM stops it: what waits for a person is kept, and goes on after the next start.`,
    )
    .action((options) => finish(import('./commands/serve.ts').then(({ serve }) => serve(options, context))))
}

function addRun(add: Add, context: Context, finish: Finish): void {
  add('run', 'send one prompt to an agent and show what it does')
    .argument('<agent>', 'which agent, e.g. demo; see: parley agents')
    .argument('[prompt]', 'what to do; "-", or nothing and a pipe, reads it from stdin')
    .option('--cwd <folder>', 'the folder to work in (default: this one)')
    .option('--model <model>', 'which model')
    .option('--mode <mode>', 'ask, accept-edits, read-only, plan or bypass (allow everything)')
    .option('--title <title>', 'the title of the new session')
    .option('--session <session>', 'continue this session: its id, the start of it, or "last"')
    .option('--on-permission <what>', 'ask, deny or allow (default: ask on a terminal, else deny)')
    .option('--timeout <time>', 'stop the turn after, e.g., 90s or 5m')
    .option('--json', 'print every event as a line of JSON, and nothing else, to stdout')
    .option('--deltas', 'with --json: the live deltas too')
    .addHelpText(
      'after',
      examples(
        'parley run demo "show a permission"',
        'git diff | parley run demo - --json',
        'parley run demo "and now?" --session last',
      ),
    )
    .addHelpText(
      'after',
      `
The agent's words go to stdout, everything else to stderr. Ctrl-C stops the turn, twice leaves at once.
Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 unknown how it ended, 130 cancelled (also by --timeout).
A denied permission is not a failure: the code is that of the turn.`,
    )
    .action((agent, prompt, options) =>
      finish(import('./commands/run.ts').then(({ run }) => run(agent, prompt, options, context))),
    )
}

const session = ['<session>', 'its id, the start of it, or "last"'] as const

function addSessionCommands(add: Add, context: Context, finish: Finish): void {
  add('attach', 'follow a session on the terminal, answer what it asks, prompt it')
    .argument(...session)
    .option('--tail <events>', 'how many of the last events to show first (default: 60)')
    .addHelpText('after', examples('parley attach last'))
    .addHelpText('after', '\nA line you type is a prompt. Ctrl-D or Ctrl-C leaves; the session goes on.')
    .action((id, options) =>
      finish(import('./commands/attach.ts').then(({ attach }) => attach(id, options, context))),
    )
  add('sessions', 'list sessions')
    .option('--all', 'archived ones too')
    .option('--query <text>', 'only those with this in their title')
    .option('--agent <agent>', 'only those of this agent')
    .option('--status <status>', 'idle, working, waiting or parked')
    .option('--limit <number>', 'at most so many (default: 50)')
    .option('--json', 'one session a line, as JSON')
    .addHelpText('after', examples('parley sessions --status waiting', 'parley sessions --json | jq .id'))
    .action((options) =>
      finish(import('./commands/sessions.ts').then(({ sessions }) => sessions(options, context))),
    )
  add('show', 'show the state and the last blocks of a session')
    .argument(...session)
    .option('--tail <blocks>', 'how many blocks (default: 50)')
    .option('--json', 'as JSON')
    .addHelpText('after', examples('parley show last'))
    .action((id, options) =>
      finish(import('./commands/show.ts').then(({ show }) => show(id, options, context))),
    )
  add('export', 'write a whole session as a file')
    .argument(...session)
    .option('--as <format>', 'jsonl, markdown or html (default: jsonl)')
    .option('-o, --output <file>', 'where to (default: stdout)')
    .addHelpText('after', examples('parley export last --as html -o session.html'))
    .action((id, options) =>
      finish(import('./commands/export.ts').then(({ exportSession }) => exportSession(id, options, context))),
    )
  add('cancel', 'stop the turn that runs in a session')
    .argument(...session)
    .addHelpText('after', examples('parley cancel last'))
    .action((id, options) =>
      finish(import('./commands/cancel.ts').then(({ cancel }) => cancel(id, options, context))),
    )
  add('delete', 'delete a session for good')
    .argument(...session)
    .option('--yes', 'do not ask')
    .addHelpText('after', examples('parley delete ses_01k2 --yes'))
    .action((id, options) =>
      finish(import('./commands/delete.ts').then(({ deleteSession }) => deleteSession(id, options, context))),
    )
}

function addCareCommands(add: Add, context: Context, finish: Finish): void {
  add('agents', 'list the agents, and what each one needs')
    .option('--json', 'one agent a line, as JSON')
    .addHelpText('after', examples('parley agents'))
    .action((options) =>
      finish(import('./commands/agents.ts').then(({ agents }) => agents(options, context))),
    )
  add('doctor', 'check this machine and the data folder; exit code 1 if something fails')
    .option('--host <address>', 'check this address (default: 127.0.0.1)')
    .option('--port <port>', 'check this port (default: 4747)')
    .option('--json', 'one check a line, as JSON')
    .addHelpText('after', examples('parley doctor'))
    .action((options) =>
      finish(import('./commands/doctor.ts').then(({ doctor }) => doctor(options, context))),
    )
  add('token', 'print the token that clients send')
    .option('--link', 'a new one-time link of the running server instead')
    .option('--rotate', 'make a new token; a running server must be restarted')
    .addHelpText(
      'after',
      examples(
        'parley token --link',
        'curl -H "Authorization: Bearer $(parley token)" http://127.0.0.1:4747/api/sessions',
      ),
    )
    .action((options) => finish(import('./commands/token.ts').then(({ token }) => token(options, context))))
}

function list(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    value,
  ])
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}
