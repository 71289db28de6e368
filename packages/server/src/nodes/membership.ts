import { isOutage } from '../core/index.ts'
import type { NodeLog, PeerNode } from './node-log.ts'
import type { PeerLinks } from './peer-links.ts'

const scanMs = 100
/** The time that a node waits before it tries again to take over sessions that could not be recovered. */
const firstPauseMs = 1_000
const longestPauseMs = 60_000

/** The part of the database that `Membership` uses. */
export type NodeRegister = {
  /** The id of this node in the database, or undefined while it has none. */
  readonly node: number | undefined
  /** The other nodes that are not fenced, and whether there are sessions to take over. */
  scan(): Promise<{ readonly peers: readonly PeerNode[]; readonly hasOrphans: boolean }>
  fenceExpired(refusing: readonly number[]): Promise<number[]>
}

type MembershipOptions = {
  readonly register: NodeRegister
  readonly links: PeerLinks
  /** The address of this node. */
  readonly url: () => string
  /** Takes over the sessions that have work left and whose owner is gone. */
  readonly takeOver: () => Promise<number>
  readonly log: NodeLog
  readonly problem: (error: unknown, doing: string) => void
}

/**
 * Watches the other nodes: links to each, fences those that are gone, and takes over their sessions. Every node does
 * this independently; the database ensures that only one of them succeeds.
 */
export class Membership {
  readonly #options: MembershipOptions
  #timer: NodeJS.Timeout | undefined
  #takingOver: Promise<void> | undefined
  #pauseMs = 0
  #pausedUntil = 0
  #isFailing = false
  #isClosed = false

  constructor(options: MembershipOptions) {
    this.#options = options
    this.#later()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#takingOver
  }

  #later(): void {
    this.#timer = setTimeout(() => void this.#scan(), scanMs).unref()
  }

  async #scan(): Promise<void> {
    const { register, links, url: ownUrl, log, problem } = this.#options
    try {
      const { peers, hasOrphans } = await register.scan()
      if (this.#isClosed) return
      // No link to this node's own address: an earlier run there may not be fenced yet.
      const others = peers.filter(({ url }) => url !== ownUrl())
      links.keep(others.map(({ url }) => url))
      log.scanned(register.node, others)
      const refusing = peers.filter(({ url }) => links.at(url)?.isRefused).map(({ id }) => id)
      const isGone = peers.some(({ isExpired }) => isExpired) || refusing.length > 0
      const fenced = isGone ? await register.fenceExpired(refusing) : []
      if (this.#isClosed) return
      if (fenced.length > 0) this.#pauseMs = this.#pausedUntil = 0
      const gone = peers.filter(({ id }) => fenced.includes(id))
      if (fenced.length > 0 || hasOrphans) this.#takeOver(gone)
      if (!hasOrphans && !this.#takingOver) this.#pauseMs = this.#pausedUntil = 0
      this.#isFailing = false
    } catch (error) {
      // A failure is reported only once, because every scan fails while PostgreSQL is unreachable.
      if (isOutage(error)) log.unreachable(error)
      else if (!this.#isFailing) problem(error, 'look for the other nodes')
      this.#isFailing = true
    }
    if (!this.#isClosed) this.#later()
  }

  /**
   * Takes over sessions. A session that could not be recovered is released, so the next scan finds it again. Each
   * attempt lengthens the pause before the next one.
   */
  #takeOver(gone: readonly PeerNode[]): void {
    if (this.#takingOver || performance.now() < this.#pausedUntil) return
    const { takeOver, log, problem } = this.#options
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, firstPauseMs), longestPauseMs)
    this.#pausedUntil = performance.now() + this.#pauseMs
    this.#takingOver = takeOver()
      .then((sessions) => log.tookOver(sessions, gone))
      .catch((error) => problem(error, 'take over sessions'))
      .finally(() => {
        this.#takingOver = undefined
      })
  }
}
