/** The input of `createAdapter`. */
export type AdapterInput = {
  /** The options of the module in config.json. */
  readonly options: Readonly<Record<string, unknown>>
  /** The environment of the server, with the variables that config.json sets for the agent, such as its key. */
  readonly env: Readonly<Record<string, string | undefined>>
}
