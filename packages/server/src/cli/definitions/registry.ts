import type { Command } from 'commander'
import { Option } from 'commander'
import { createCommandLine } from '../command-line.ts'
import type { Context } from '../context.ts'

export type Registry = {
  readonly context: Context
  /** Adds a command with the common options to the program. `lines` are examples for its help. */
  readonly add: Add
  readonly under: (parent: Command) => Add
  /**
   * Returns the action of a command. It loads the function, calls it with the given arguments and options, and sets
   * the exit code.
   */
  readonly run: (load: () => Promise<CommandFunction>) => (...given: unknown[]) => Promise<void>
}

/** Takes the arguments of the command, its options and the context. */
type CommandFunction = (...given: never[]) => number | Promise<number>

export type Add = (name: string, description: string, ...lines: string[]) => Command

export function createRegistry(
  program: Command,
  context: Context,
  done: (exitCode: number) => void,
): Registry {
  const under =
    (parent: Command): Add =>
    (name, description, ...lines) =>
      withCommonOptions(parent.command(name))
        .description(description)
        .addHelpText('after', examples(context, ...lines))
  return {
    context,
    add: under(program),
    under,
    run:
      (load) =>
      async (...given) => {
        const command = (await load()) as (...given: unknown[]) => number | Promise<number>
        done(await command(...given.slice(0, -1), context))
      },
  }
}

export const visibleTokenWarning =
  '--token shows the token to everybody who lists processes: set PARLEY_TOKEN or use --token-file'

export const visibleDatabaseUrlWarning =
  '--database-url shows the URL to everybody who lists processes while the program starts: set PARLEY_DATABASE_URL'

export const sessionArgument = ['<session>', 'the id of the session, a prefix of the id, or "last"'] as const

/** An option that may be given several times. */
export function list(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    value,
  ])
}

function withCommonOptions(command: Command): Command {
  return command
    .option('--data-dir <folder>', 'the folder of sessions, token and config.json (default: ~/.parley)')
    .option('--token-file <file>', 'a file with the token, instead of the one in the data folder')
    .option('--token <token>', 'the token itself; other users of this machine can see it')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent')
    .option('--verbose', 'log more, and show the cause of an error')
    .helpOption('-h, --help', 'show this help')
}

/**
 * Formats examples of use. A checkout has no `parley` on the PATH. In pipes, redirections and `$(…)`, npm must not
 * print the command that it runs.
 */
export function examples({ invocation }: Context, ...lines: string[]): string {
  const commandLine = createCommandLine({ invocation })
  const here = lines.map((line) => {
    const program = commandLine('', { quiet: /[|(]| >/.test(line) }).trimEnd()
    return line.replace(/(?<![\w./-])parley(?![\w-])/, () => program)
  })
  return `\nExamples:\n${here.map((line) => `  $ ${line}`).join('\n')}`
}
