import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

/** The maximum difference between the clocks of two nodes. */
const toleranceMs = 5 * 60_000

export const challengeHeader = 'parley-node-challenge'
export const proofHeader = 'parley-node-proof'

/** The numbers under which nodes are registered in the database. A node that is started again gets another number. */
export type NodeNumbers = {
  /** The number of the newest node at this address; 0 if there is none. */
  at(url: string): number
  /** True if the number was given to this process, or to a node that has registered since. */
  isCurrent(number: number): boolean
}

/**
 * Authenticates nodes to each other with the token that all of them share. The token itself is never sent to an address
 * from the database, where another program may listen after a node has ended. Instead, a request carries a signed
 * bearer token that only the node at that address accepts, and the response must prove that its sender has the shared
 * token too. A bearer token is valid only for the process that it was made for, because a program that listened there
 * while the node was down may have received it.
 */
export class PeerCredential {
  readonly #key: Buffer
  readonly #url: () => string
  readonly #numbers: NodeNumbers

  /** `url` is the address at which the other nodes reach this node; empty until the address is known. */
  constructor(token: string, url: () => string, numbers: NodeNumbers) {
    // The derivation of the key is slow on purpose, so that a program cannot find a short shared token by trying
    // guesses against a bearer token.
    this.#key = scryptSync(token, 'parley nodes 1', 32)
    this.#url = url
    this.#numbers = numbers
  }

  /** The headers of one request to the node at this address. */
  headersFor(url: string, now = Date.now()): Record<'authorization' | typeof challengeHeader, string> {
    const content = `${now}.${this.#numbers.at(url)}`
    const bearer = `node.${content}.${this.#sign('bearer', url, content)}`
    return { authorization: `Bearer ${bearer}`, [challengeHeader]: randomBytes(32).toString('base64url') }
  }

  /** True if a node made this bearer token for a request to this node. */
  accepts(bearer: string, now = Date.now()): boolean {
    const [, content = '', at = '', number = '', signature = ''] =
      /^node\.((\d{1,16})\.(\d{1,16}))\.([\w-]+)$/.exec(bearer) ?? []
    if (Math.abs(Number(at) - now) > toleranceMs || this.#url() === '') return false
    if (!this.#numbers.isCurrent(Number(number))) return false
    return isSame(signature, this.#sign('bearer', this.#url(), content))
  }

  /** Proves to the sender of a challenge that this node has the token. */
  prove(challenge: string): string {
    return this.#sign('proof', this.#url(), challenge)
  }

  isProof(proof: string | null | undefined, url: string, challenge: string): boolean {
    return typeof proof === 'string' && isSame(proof, this.#sign('proof', url, challenge))
  }

  #sign(purpose: 'bearer' | 'proof', url: string, value: string): string {
    const text = [purpose, new URL(url).origin, value].join('\n')
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}

/**
 * True if this is the URL of a node, as the configuration accepts it. A row of the database may contain another URL.
 * Such a row is ignored, so that it cannot prevent the other nodes from reaching each other.
 */
export function isNodeUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)]
  return one.length === other.length && timingSafeEqual(one, other)
}
