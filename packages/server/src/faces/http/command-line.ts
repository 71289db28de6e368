/**
 * A command of this program as a person types it here: `words` are the command and its arguments. `quiet` is for
 * `$(…)`, where nothing but the command's own output may come.
 */
export type CommandLine = (words: string, options?: { readonly quiet?: boolean }) => string

/** Where nobody says how the program was started. */
export const plainCommandLine: CommandLine = (words) => `parley ${words}`
