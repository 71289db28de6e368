import { ParleyError } from '@parley/protocol'
import type { HostObserver } from '../core/index.ts'

export type PeerNode = { readonly id: number; readonly url: string; readonly isExpired: boolean }

/** The functions of a logger that are used here. */
type Lines = Readonly<Record<'info' | 'warn' | 'error', (fields: object, text: string) => void>>

/**
 * Logs each change of this node, of the other nodes and of the connection to the database in one line. The lines
 * contain no secrets: the address of the database is not known here.
 */
export class NodeLog {
  readonly #logger: Lines
  /** The sessions that are open in this process. */
  readonly #sessions = new Set<string>()
  #node: number | undefined
  /** The numbers of the other nodes by their addresses. Undefined before the first scan. */
  #peers: ReadonlyMap<string, number> | undefined
  #unreachableSince: number | undefined
  /** The number of sessions that were open when the server began to stop. */
  #left = 0

  constructor(logger: Lines) {
    this.#logger = logger
  }

  readonly observer: HostObserver = {
    opened: ({ id }) => void this.#sessions.add(id),
    recorded: () => undefined,
    left: (sessionId) => void this.#sessions.delete(sessionId),
  }

  joined(node: number | undefined, url: string, place: string): void {
    this.#node = node
    this.#logger.info({ node, url, place }, `joined as node ${node} at ${url} (${place})`)
  }

  /** Called when this node has lost its lease, before its sessions are dropped. */
  lost(): void {
    const [node, sessions] = [this.#node, this.#sessions.size]
    if (node !== undefined)
      this.#logger.warn({ node, sessions }, `lost the lease of node ${node} and gave up ${counted(sessions)}`)
  }

  tookOver(sessions: number, gone: readonly PeerNode[] = []): void {
    if (sessions === 0) return
    const from = gone.map(({ id, url }) => `node ${id} at ${url}`).join(' and ')
    this.#logger.info({ sessions }, `took over ${counted(sessions)}${from && ` of ${from}`}`)
  }

  otherToken(url: string): void {
    const text = `the node at ${url} refuses this one: its PARLEY_TOKEN differs, or its clock differs by more than five minutes`
    this.#logger.error({ url }, text)
  }

  /** Called when PostgreSQL has answered a scan. `node` is undefined while this node has no lease. */
  scanned(node: number | undefined, peers: readonly PeerNode[]): void {
    this.#reached()
    if (node !== undefined && this.#node !== undefined && node !== this.#node)
      this.#logger.info({ node }, `registered again, as node ${node}`)
    this.#node = node ?? this.#node
    const before = this.#peers
    this.#peers = new Map(peers.map(({ url, id }) => [url, id]))
    if (!before) return
    for (const [url, id] of before)
      if (!this.#peers.has(url)) this.#logger.warn({ node: id, url }, `node ${id} at ${url} is gone`)
    for (const [url, id] of this.#peers)
      if (before.get(url) !== id) this.#logger.info({ node: id, url }, `node ${id} at ${url} has joined`)
  }

  /** Called when a scan has failed because PostgreSQL cannot be reached. */
  unreachable(error: unknown): void {
    if (this.#unreachableSince !== undefined) return
    this.#unreachableSince = performance.now()
    const code = error instanceof ParleyError ? error.details?.postgres : undefined
    this.#logger.warn({ code }, 'PostgreSQL cannot be reached; requests fail until it can be reached again')
  }

  #reached(): void {
    if (this.#unreachableSince === undefined) return
    const ms = Math.round(performance.now() - this.#unreachableSince)
    this.#unreachableSince = undefined
    this.#logger.info({ ms }, `PostgreSQL can be reached again, after ${(ms / 1_000).toFixed(1)} s`)
  }

  /** Called before the sessions of this node are closed. */
  stopping(): void {
    this.#left = this.#sessions.size
  }

  /** Called when the sessions of this node are released, or when PostgreSQL could not be reached to release them. */
  stopped(): void {
    const [node, sessions] = [this.#node, this.#left]
    if (node === undefined) return
    if (this.#unreachableSince !== undefined)
      this.#logger.warn(
        { node },
        `stopped as node ${node}; PostgreSQL cannot be reached, so its sessions stay with it until its lease expires`,
      )
    else this.#logger.info({ node, sessions }, `stopped as node ${node} and released ${counted(sessions)}`)
  }
}

function counted(sessions: number): string {
  return sessions === 1 ? '1 session' : `${sessions} sessions`
}
