import { hash, randomBytes } from 'node:crypto'
import { defined, type NamedToken, newId, ParleyError, tokenPrefix } from '@parley/protocol'
import type { Caller, Holder, Holders } from './holders.ts'
import type { Rights } from './principal.ts'
import type { TokenData } from './record-data.ts'

const maxTokens = 1000
const hintLength = 4

/** Named tokens. The store has only the hash of a secret, so a secret is shown once, when the token is created. */
export class Tokens {
  readonly #holders: Holders
  #byHash = new Map<string, Holder>()

  constructor(holders: Holders) {
    this.#holders = holders
    holders.onRead(() => this.#index())
  }

  /** Stores a new token. The caller must have checked that it may give these rights. */
  async create(
    name: string,
    { personId, scopes, limits, expiresAt }: Rights & { readonly personId: string },
  ): Promise<NamedToken & { token: string }> {
    await this.#holders.load()
    await this.#makeRoom()
    const token = tokenPrefix + randomBytes(32).toString('base64url')
    const rights = { personId, scopes, ...defined({ limits, expiresAt }) }
    const data = { name, ...rights, hash: hashOf(token), hint: token.slice(-hintLength) }
    const id = newId('tok')
    await this.#holders.put({ kind: 'token', id, data, createdAt: Date.now() })
    this.#index()
    return { ...this.#shown(this.#holders.get('token', id) as Holder), token }
  }

  /** The tokens that are not revoked, oldest first. */
  async list(): Promise<NamedToken[]> {
    await this.#holders.load()
    const kept = this.#holders.all('token').filter(({ record }) => record.retiredAt === undefined)
    return kept.map((holder) => this.#shown(holder))
  }

  /**
   * When this resolves, the token is refused and its connections are closed. Has no further effect on a token that was
   * revoked before. Rejects with ParleyError `not_found` for an unknown id.
   */
  async revoke(tokenId: string): Promise<void> {
    await this.#holders.load()
    const holder = this.#holders.get('token', tokenId)
    if (!holder)
      throw new ParleyError('not_found', `There is no token ${tokenId}. List the tokens to see their ids.`)
    this.#byHash.delete((holder.data as TokenData).hash)
    await this.#holders.retire(holder)
  }

  /** Loads the tokens if this text has the form of a token. If this returns a promise, await it before `callerOf`. */
  learn(text: string): Promise<void> | undefined {
    if (!text.startsWith(tokenPrefix)) return undefined
    return this.#holders.isLoaded && this.#holders.isWaitedFor ? undefined : this.#holders.upToDate()
  }

  callerOf(text: string): Caller | undefined {
    const holder = text.startsWith(tokenPrefix) ? this.#byHash.get(hashOf(text)) : undefined
    return holder && this.#holders.callerOf(holder)
  }

  /** If there is no room for a new token, removes a revoked or expired token. Throws if there is no such token. */
  async #makeRoom(): Promise<void> {
    const tokens = this.#holders.all('token')
    if (tokens.length < maxTokens) return
    const over = tokens.find((holder) => this.#holders.isOver(holder))
    if (!over) throw new ParleyError('conflict', `There are ${maxTokens} tokens. Revoke some of them first.`)
    await this.#holders.forget(over)
  }

  #shown(holder: Holder): NamedToken {
    const { name, personId, limits, expiresAt, hint } = holder.data as TokenData
    const { createdAt, usedAt: lastUsedAt } = holder.record
    const scopes = this.#holders.scopesOf(holder)
    const about = { tokenId: holder.id, personId, name, hint, scopes, createdAt }
    return { ...about, ...defined({ limits, expiresAt, lastUsedAt }) }
  }

  #index(): void {
    const kept = this.#holders.all('token').filter(({ record }) => record.retiredAt === undefined)
    this.#byHash = new Map(kept.map((holder) => [(holder.data as TokenData).hash, holder]))
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64')
}
