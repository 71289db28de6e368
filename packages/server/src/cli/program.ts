import { resolve } from 'node:path'
import { Command, CommanderError, Help } from 'commander'
import { version } from '../version.ts'
import { createCommandLine } from './command-line.ts'
import type { Context } from './context.ts'
import { createRegistry, examples, visibleTokenWarning } from './definitions/registry.ts'
import { addServe } from './definitions/server.ts'
import { nearest } from './nearest.ts'
import { createOutput } from './terminal/output.ts'

/**
 * The program. The definitions of its commands are in `definitions/`; their code is in `commands/` and is loaded on
 * use.
 */

export async function runProgram(process: NodeJS.Process): Promise<never> {
  const context = contextOf(process)
  const { output } = context
  const args = withDefaultCommand(process.argv.slice(2))
  hideSecrets(process)
  let exitCode = 0
  const done = (code: number) => {
    exitCode = code
  }
  const program = await createProgram(context, done, args[0])
  try {
    await program.parseAsync(withKnownHelp(program, args), { from: 'user' })
  } catch (thrown) {
    exitCode = await report(thrown, args, { program, context })
  }
  await output.flush()
  process.exit(exitCode)
}

function contextOf(process: NodeJS.Process): Context {
  const { env, stdin, argv } = process
  const [node = '', script = ''] = argv
  const isNpm = env.npm_lifecycle_event !== undefined
  const isCheckout = env.npm_lifecycle_event === 'start' || process.execArgv.includes('--conditions=source')
  const cwd = (isNpm && env.INIT_CWD) || process.cwd()
  const invocation = isCheckout ? 'npm start --' : 'parley'
  const dataDir = givenDataDir(argv.slice(2))
  return {
    env,
    cwd,
    invocation,
    program: [node, ...process.execArgv.filter((flag) => flag === '--conditions=source'), script],
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

/** Adds the default command: `parley --port 0` becomes `parley serve --port 0`. */
function withDefaultCommand(args: string[]): string[] {
  const [first] = args
  const isOfProgram = first !== undefined && ['-h', '--help', '-V', '--version'].includes(first)
  return first === undefined || (first.startsWith('-') && !isOfProgram) ? ['serve', ...args] : args
}

/** Replaces `help nosuch` by `nosuch`, which is refused with a list of similar commands. */
function withKnownHelp(program: Command, args: string[]): string[] {
  const [first, word] = args
  if (first !== 'help' || word === undefined || word.startsWith('-')) return args
  const isKnown = word === 'help' || program.commands.some((command) => command.name() === word)
  return isKnown ? args : [word]
}

type Running = { readonly program: Command; readonly context: Context }

async function report(thrown: unknown, args: string[], running: Running): Promise<number> {
  const { output, env } = running.context
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return 0
    output.err(`${withoutDatabaseUrls(usageLine(thrown, args, running))}\n`)
    return 2
  }
  const { failureOf } = await import('./failure.ts')
  const verbose = args.includes('--verbose') || /^(debug|trace)$/.test(env.PARLEY_LOG_LEVEL ?? '')
  const { line, exitCode } = failureOf(thrown, verbose)
  output.err(`${withoutDatabaseUrls(line)}\n`)
  return exitCode
}

/** Matches a URL as `shownDatabaseUrl` writes it, and the punctuation that may follow it in a sentence. */
const shownUrl = /^postgres:\/\/([\w%.-]+@)?(\[[\da-f:]+\]|[\w%.-]+):\d+\/[\w%.-]+[),.:;]*$/i

/** Removes database URLs that may contain a password, because an error about the arguments may repeat them. */
function withoutDatabaseUrls(text: string): string {
  return text.replace(/\bpostgres(ql)?:\S+/gi, (url) => (shownUrl.test(url) ? url : 'postgres://***'))
}

/**
 * Replaces secrets in the list of processes. Before this call they can be seen there, and the arguments of a shell
 * or npm that started this program still contain them.
 */
function hideSecrets(process: NodeJS.Process): void {
  const args = process.argv.slice(2)
  const secret = /^--(token|database-url)$/
  const shown = args.map((arg, index) =>
    secret.test(args[index - 1] ?? '')
      ? '***'
      : withoutDatabaseUrls(arg).replace(/^(--(?:token|database-url)=).*/s, '$1***'),
  )
  if (shown.join() !== args.join()) process.title = ['parley', ...shown].join(' ')
}

function usageLine(
  { message, code }: CommanderError,
  [command = '', word = '']: string[],
  { program, context: { invocation } }: Running,
): string {
  const group = program.commands.find((one) => one.name() === command)
  const verbs = group?.commands.map((one) => one.name()) ?? []
  const known = [verbs.slice(0, -1).join(', '), verbs.at(-1)].filter(Boolean).join(' and ')
  const whole = verbs.includes(word) ? `${command} ${word}` : command
  const words = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
  if (code === 'commander.excessArguments' && command === 'serve') {
    return `parley: ${words} Put options after the command, as in: ${invocation} sessions --data-dir <folder>`
  }
  if (code === 'commander.excessArguments' && verbs.length > 0 && whole === command) {
    const near = nearest(word, verbs)
    const hint = near === undefined ? '' : ` Did you mean "${command} ${near}"?`
    return `parley: unknown command "${command} ${word}"; use ${known}.${hint} See: ${invocation} ${command} --help`
  }
  // The help was printed already.
  if (code === 'commander.help' && verbs.length > 0)
    return `parley: "${command}" needs another word: ${known.replace(' and ', ' or ')}.`
  const isCommand = code !== 'commander.unknownCommand' && code !== 'commander.help'
  return `parley: ${words.replace(/([^.)?])$/, '$1.')} See: ${invocation} ${isCommand ? `${whole} ` : ''}--help`
}

/**
 * The command tree. `done` gets the exit code of the command. For the command `serve`, the tree has only that command,
 * because each further definition costs time at the start of a server.
 */
export async function createProgram(
  context: Context,
  done: (exitCode: number) => void,
  command?: string,
): Promise<Command> {
  const program = new Command(context.invocation)
    .description('The session server for coding agents. Without a command, it runs the server.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .enablePositionalOptions()
    .hook('preAction', (_, command) => warnOfToken(command, context))
    .exitOverride()
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => context.output.out(wrapped(text, context.output.columns())),
      writeErr: (text) => context.output.err(wrapped(text, context.output.columns())),
    })
    .configureHelp({ subcommandTerm })
    .addHelpText(
      'after',
      examples(context, 'parley', 'parley run demo "help"', 'parley sessions', 'parley help run'),
    )
    .addHelpText(
      'after',
      `
Settings come from options, then PARLEY_HOST, PARLEY_PORT, PARLEY_DATA_DIR, PARLEY_TOKEN, PARLEY_TOKEN_FILE, PARLEY_LOG_LEVEL,
PARLEY_DATABASE_URL, PARLEY_NODE_URL and PARLEY_PLACE, then config.json in the data folder, then defaults
(127.0.0.1, 4747, ~/.parley, SQLite in the data folder).`,
    )
  const registry = createRegistry(program, context, done)
  addServe(registry)
  if (command !== 'serve') (await import('./definitions/index.ts')).addOtherCommands(program, registry)
  return program
}

/**
 * The name and the arguments of a command. Aliases and `[options]` are omitted, because they would leave too little
 * room for descriptions.
 */
function subcommandTerm(command: Command): string {
  return new Help().subcommandTerm(command).replace(/^([\w-]+)(\|[\w-]+)?( \[options\])?/, '$1')
}

const leastColumns = 40

/** Fits the paragraphs of a help text into the terminal. Indented lines are kept: they are examples, or fit already. */
function wrapped(help: string, columns: number): string {
  const width = Math.max(columns, leastColumns)
  if (!help.split('\n').some((line) => line.length > width && !line.startsWith(' '))) return help
  const joined = help.replace(/^(\S.*[^.:])\n(?=\S)/gm, '$1 ')
  return joined.replace(new RegExp(`^(?! ).{${width + 1},}$`, 'gm'), (line) =>
    line.replace(new RegExp(`(.{1,${width}})( +|$)`, 'g'), '$1\n').trimEnd(),
  )
}

/** Warns about a token given as an argument. For `serve`, the server writes this warning to its log instead. */
function warnOfToken(command: Command, { output }: Context): void {
  if (command.opts().token !== undefined && command.name() !== 'serve')
    output.err(`parley: ${visibleTokenWarning}\n`)
}
