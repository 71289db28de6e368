/**
 * What lets a program in: the server's token, or a function that gives the one to send now. After a refusal the
 * function is called with the token that was refused, and may give another one, with which the call is tried once
 * more. Undefined: nothing is sent.
 */
export type TokenSource = string | ((refused?: string) => Promise<string | undefined>)

export type Credential = {
  /** Rejects if the source does. */
  token(): Promise<string | undefined>
  /** Another token than the refused one, if there is one. */
  renew(refused: string | undefined): Promise<string | undefined>
}

export function createCredential(source: TokenSource | undefined): Credential {
  if (typeof source !== 'function') {
    return { token: async () => source, renew: async () => undefined }
  }
  return {
    token: () => source(),
    async renew(refused) {
      if (refused === undefined) return undefined
      const next = await source(refused)
      return next === refused ? undefined : next
    },
  }
}
