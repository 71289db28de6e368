/**
 * The server's token, or a function that returns the current one. After a refusal the function is called with the
 * token that was refused, and may return another one, with which the call is tried once more. Undefined: no token is
 * sent.
 */
export type TokenSource = string | ((refused?: string) => Promise<string | undefined>)

export type Credential = {
  /** Resolves with the token to send; undefined for none. Rejects if the source does. */
  token(): Promise<string | undefined>
  /** Resolves with a token other than the refused one; undefined if there is none. */
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
