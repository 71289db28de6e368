import { homedir } from 'node:os'
import type { CommandLine } from '../faces/http/command-line.ts'
import { readConfigFile } from './config-file.ts'
import { type Configuration, type Flags, resolveConfiguration } from './configuration.ts'
import type { Output } from './terminal/output.ts'
import { readTokenFile } from './token-file.ts'

/** What every command is given: where it runs, and how it speaks. Made once, from the process, in `program.ts`. */
export type Context = {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where the person stands: relative paths start here. */
  readonly cwd: string
  /** How this program was called, for help: `parley`, or `npm start --` in a checkout. */
  readonly invocation: string
  /** The next command as it must be typed to mean the same data folder, for hints. */
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
