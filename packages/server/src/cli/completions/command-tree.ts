import { ExportFormat, PermissionMode, Role, RuleDecision, Scope, SessionStatus } from '@parley/protocol'
import type { Argument, Command } from 'commander'
import { logLevels } from '../config-file.ts'

export const shells = ['bash', 'zsh', 'fish'] as const

/**
 * The kind of a value that is completed: a session or an agent, which the script requests from the program, a file, a
 * folder, one of several words, or nothing.
 */
export type ValueKind =
  | 'session'
  | 'agent'
  | 'file'
  | 'folder'
  | 'none'
  | { readonly words: readonly string[] }

/** The description of a command from which the scripts are made. */
export type CompletedCommand = {
  /** The path of the command, such as "rules add"; empty for the program itself. */
  readonly path: string
  readonly about: string
  readonly subcommands: readonly string[]
  readonly options: readonly CompletedOption[]
  readonly positions: readonly ValueKind[]
  /** True if the last argument may be repeated. */
  readonly isVariadic: boolean
}

export type CompletedOption = {
  readonly name: string
  readonly about: string
  /** Absent if the option takes no value. */
  readonly value?: ValueKind
}

/** The kinds of values by the names of arguments. */
const kinds: Readonly<Record<string, ValueKind>> = {
  session: 'session',
  agent: 'agent',
  agents: 'agent',
  file: 'file',
  folder: 'folder',
  shell: { words: shells },
  format: { words: ExportFormat.options },
  mode: { words: PermissionMode.options },
  status: { words: SessionStatus.options },
  level: { words: logLevels },
  decision: { words: RuleDecision.options },
  role: { words: Role.options },
  scopes: { words: Scope.options },
}

/** The program and all its commands, without hidden commands. */
export function commandTree(command: Command, path = ''): CompletedCommand[] {
  const help = command.createHelp()
  const subcommands = help.visibleCommands(command).filter((one) => one.name() !== 'help')
  const options = help.visibleOptions(command).flatMap(({ long, description, required, optional, flags }) => {
    if (!long) return []
    const takesValue = required || optional
    return [
      {
        name: long,
        about: description,
        ...(takesValue && { value: kindOf(/[<[]([\w-]+)/.exec(flags)?.[1]) }),
      },
    ]
  })
  const own: CompletedCommand = {
    path,
    about: command.description(),
    subcommands: subcommands.map((one) => one.name()),
    options,
    positions: command.registeredArguments.map((argument: Argument) => kindOf(argument.name())),
    isVariadic: command.registeredArguments.at(-1)?.variadic === true,
  }
  return [own, ...subcommands.flatMap((one) => commandTree(one, `${path} ${one.name()}`.trim()))]
}

function kindOf(name = ''): ValueKind {
  return kinds[name] ?? 'none'
}
