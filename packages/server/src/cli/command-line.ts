import { shellWord } from '@parley/adapter-kit/advice'
import type { CommandLine } from '../faces/http/command-line.ts'

export type Invocation = {
  /** The command that started the program: `parley`, or `npm start --` in a checkout. */
  readonly invocation: string
  /** The data folder, if it was given with --data-dir. Every formatted command repeats it. */
  readonly dataDir?: string | undefined
}

export function createCommandLine({ invocation, dataDir }: Invocation): CommandLine {
  const folder = dataDir === undefined ? '' : ` --data-dir ${shellWord(dataDir)}`
  return (words, { quiet = false } = {}) => {
    const program = quiet ? invocation.replace(/^npm start\b/, 'npm start --silent') : invocation
    return `${program} ${words}${folder}`
  }
}
