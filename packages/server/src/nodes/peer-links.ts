import type { SessionChange } from '../core/index.ts'
import { isNodeUrl, type PeerCredential } from './peer-credential.ts'
import { PeerLink } from './peer-link.ts'

/** The links to all other nodes. */
export class PeerLinks {
  readonly #credential: PeerCredential
  readonly #otherToken: (url: string) => void
  readonly #listeners = { changed: (_: SessionChange) => {}, missed: (_since: number) => {} }
  readonly #links = new Map<string, PeerLink>()

  /** `otherToken` is called with the address of a node that refuses the credential of this node. */
  constructor(credential: PeerCredential, otherToken: (url: string) => void) {
    this.#credential = credential
    this.#otherToken = otherToken
  }

  /**
   * `missed` is called after an interruption, with the time from which on changes of the session list may be missing.
   */
  listen(listeners: { changed: (change: SessionChange) => void; missed: (since: number) => void }): void {
    Object.assign(this.#listeners, listeners)
  }

  at(url: string): PeerLink | undefined {
    return this.#links.get(url)
  }

  /** Opens links to the nodes at these addresses, and closes all others. */
  keep(urls: readonly string[]): void {
    for (const [url, link] of this.#links) {
      if (urls.includes(url)) continue
      const { missedSince } = link
      link.close()
      this.#links.delete(url)
      this.#listeners.missed(missedSince)
    }
    for (const url of urls) {
      if (this.#links.has(url) || !isNodeUrl(url)) continue
      const changed = (change: SessionChange) => this.#listeners.changed(change)
      const opened = (since: number) => this.#listeners.missed(since)
      const otherToken = () => this.#otherToken(url)
      const credential = this.#credential
      this.#links.set(url, new PeerLink({ url, credential, changed, opened, otherToken }))
    }
  }

  close(): void {
    this.keep([])
  }
}
