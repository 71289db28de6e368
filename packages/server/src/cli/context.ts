import { homedir } from 'node:os'
import type { CommandLine } from '../faces/http/command-line.ts'
import { readConfigFile } from './config-file.ts'
import { type Configuration, type Flags, resolveConfiguration } from './configuration.ts'
import type { Output } from './terminal/output.ts'
import { readTokenFile } from './token-file.ts'

/** What every command is given: its surroundings and its output. Created once from the process, in `program.ts`. */
export type Context = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The person's current folder, the base of relative paths. */
  readonly cwd: string
  /** How this program was called, for help: `parley`, or `npm start --` in a checkout. */
  readonly invocation: string
  /** Formats the next command with the same data folder, for hints. */
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
    readConfig: readConfigFile,
    readToken: readTokenFile,
  })
}
