/**
 * A command of this program as a person types it here: `words` are the command and its arguments. `quiet` is for
 * `$(…)`, where nothing but the command's own output may come.
 */
export type CommandLine = (words: string, options?: { readonly quiet?: boolean }) => string

export type Invocation = {
  /** How the program was started: `parley`, or `npm start --` in a checkout. */
  readonly invocation: string
  /** The data folder, if it was given with --data-dir: the next command needs it too. */
  readonly dataDir?: string | undefined
}

export function createCommandLine({ invocation, dataDir }: Invocation): CommandLine {
  const folder = dataDir === undefined ? '' : ` --data-dir ${shellWord(dataDir)}`
  return (words, { quiet = false } = {}) => {
    const program = quiet ? invocation.replace(/^npm start\b/, 'npm start --silent') : invocation
    return `${program} ${words}${folder}`
  }
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
