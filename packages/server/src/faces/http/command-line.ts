/**
 * Formats a command of this program as a person would type it; `words` are the command and its arguments. `quiet` is
 * for `$(…)`, where only the command's own output may be printed.
 */
export type CommandLine = (words: string, options?: { readonly quiet?: boolean }) => string

/** Used if it is unknown how the program was started. */
export const plainCommandLine: CommandLine = (words) => `parley ${words}`
