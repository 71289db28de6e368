/**
 * The server's token, or a function that returns the current one. After a refusal the function is called with the token
 * that was refused; if it returns another one, the call is tried once more with that token. If it returns undefined, no
 * token is sent.
 */
export type TokenSource = string | ((refused?: string) => Promise<string | undefined>)

export type Credential = {
  /** Resolves with the token to send, or with undefined if no token is sent. Rejects if the source rejects. */
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
