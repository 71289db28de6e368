/**
 * The server's token, or a function that returns it. After a refusal, the function is called with the refused
 * token; if it returns another token, the call is repeated once with that token. If the function returns
 * undefined, no token is sent.
 */
export type TokenSource = string | ((refused?: string) => Promise<string | undefined>)

export type Credential = {
  /** Resolves with the token to send, or with undefined if no token is sent. Rejects if the source rejects. */
  token(): Promise<string | undefined>
  /** Resolves with a token other than the refused token; undefined if there is none. */
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
