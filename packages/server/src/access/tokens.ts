import { createHash, randomBytes } from 'node:crypto'
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
    if (this.#holders.all('token').length >= maxTokens)
      throw new ParleyError('conflict', `There are ${maxTokens} tokens. Revoke some of them first.`)
    const token = tokenPrefix + randomBytes(32).toString('base64url')
    const rights = { personId, scopes, ...defined({ limits, expiresAt }) }
    const data = { name, ...rights, hash: hashOf(token), hint: token.slice(-hintLength) }
    const id = newId('tok')
    await this.#holders.put({ kind: 'token', id, data, createdAt: Date.now() })
    this.#index()
    return { ...shownToken(this.#holders.get('token', id) as Holder), token }
  }

  /** The tokens that are not revoked, oldest first. */
  async list(): Promise<NamedToken[]> {
    await this.#holders.load()
    const kept = this.#holders.all('token').filter(({ record }) => record.retiredAt === undefined)
    return kept.map(shownToken)
  }

  /** When this resolves, the token is refused and its connections are closed. Its record is removed. */
  async revoke(tokenId: string): Promise<void> {
    await this.#holders.load()
    const holder = this.#holders.get('token', tokenId)
    if (!holder || holder.record.retiredAt !== undefined)
      throw new ParleyError('not_found', `There is no token ${tokenId}. List the tokens to see their ids.`)
    this.#byHash.delete((holder.data as TokenData).hash)
    await this.#holders.retire(holder)
  }

  /** Loads the tokens, if this text can be one. If this returns a promise, await it before `callerOf`. */
  learn(text: string): Promise<void> | undefined {
    if (!text.startsWith(tokenPrefix)) return undefined
    return this.#holders.isLoaded && this.#holders.isWaitedFor ? undefined : this.#holders.upToDate()
  }

  callerOf(text: string): Caller | undefined {
    const holder = text.startsWith(tokenPrefix) ? this.#byHash.get(hashOf(text)) : undefined
    return holder && this.#holders.callerOf(holder)
  }

  #index(): void {
    const kept = this.#holders.all('token').filter(({ record }) => record.retiredAt === undefined)
    this.#byHash = new Map(kept.map((holder) => [(holder.data as TokenData).hash, holder]))
  }
}

export function shownToken({ id, record, data }: Holder): NamedToken {
  const { name, personId, scopes, limits, expiresAt } = data
  const { hint } = data as TokenData
  const { createdAt, usedAt: lastUsedAt } = record
  return {
    tokenId: id,
    personId,
    name,
    hint,
    scopes,
    createdAt,
    ...defined({ limits, expiresAt, lastUsedAt }),
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
