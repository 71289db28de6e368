import { homedir } from 'node:os'
import { dirname } from 'node:path'
import type { CommandLine } from '../faces/http/command-line.ts'
import { readConfigFile } from './config-file.ts'
import { type Configuration, type Flags, resolveConfiguration } from './configuration.ts'
import { finishRestore } from './data-folder.ts'
import type { Output } from './terminal/output.ts'
import { readTokenFile } from './token-file.ts'

/** The environment and the output of a command. Created once from the process, in `program.ts`. */
export type Context = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The person's current folder, the base of relative paths. */
  readonly cwd: string
  /** The command that started this program, for help texts: `parley`, or `npm start --` in a checkout. */
  readonly invocation: string
  /** The command that runs this program: Node, its flags and the path of the program. */
  readonly program: readonly string[]
  /** Formats a command for a hint, with the data folder of the current command. */
  readonly commandLine: CommandLine
  readonly stdin: NodeJS.ReadStream
  readonly output: Output
}

export function configurationOf(context: Context, flags: Flags): Configuration {
  const { env, cwd } = context
  return resolveConfiguration({
    flags,
    env,
    cwd,
    home: homedir(),
    readConfig(file) {
      finishRestore(dirname(file))
      return readConfigFile(file)
    },
    readToken: readTokenFile,
  })
}
