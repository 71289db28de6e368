import { ParleyError } from '@parley/protocol'
import type { Claim, OwnedSession, SessionOwnership } from '../../core/session-ownership.ts'
import { sessionUnknown } from '../refusals.ts'
import {
  adoptSessions,
  claimSession,
  type FoundSession,
  findSession,
  orphansOf,
  ownedSession,
  releaseSession,
  takeCareOfSession,
  unsettledOf,
  whereFound,
} from './claim-statements.ts'
import type { PostgresDatabase } from './database.ts'
import { type DatabaseFacts, measureDatabase } from './inspect.ts'
import {
  extendNode,
  fenceNode,
  fenceNodes,
  insertNode,
  lockNode,
  removeOldNodes,
} from './lease-statements.ts'
import type { NewOwner } from './logs.ts'
import {
  NodeNumbers,
  type NodeRow,
  type PeerRow,
  readLiving,
  readNodeOf,
  readNodes,
  readWhereabouts,
  type SessionNodeRow,
  type Whereabouts,
} from './node-rows.ts'
import { safeText } from './session-columns.ts'
import { PostgresSharedSettings } from './shared-settings.ts'

export type Lease = {
  readonly leaseMs: number
  readonly beatMs: number
  /** The time before the end of its lease at which a node stops writing, to allow for clock drift. */
  readonly marginMs: number
}

export const defaultLease: Lease = { leaseMs: 3_000, beatMs: 750, marginMs: 500 }

export type NodeOptions = {
  /** The URL at which other nodes reach this node. Without it, the node is registered later, by `start`. */
  readonly url?: string
  readonly place: string
  /** The name of the machine, for people. */
  readonly machine?: string
  /** The version of Parley. */
  readonly version?: string
  readonly lease?: Lease
}

/**
 * Owns sessions as one node among several on a database. A node proves that it is alive by extending its lease. Only
 * the clock of the database decides when a lease has expired; a node uses its own clock only to stop earlier.
 */
export class PostgresOwnership implements SessionOwnership {
  readonly firstTerm = 1
  readonly settings: PostgresSharedSettings
  readonly numbers = new NodeNumbers()
  readonly #database: PostgresDatabase
  /**
   * One connection, which holds the advisory lock of this node. PostgreSQL releases the lock when the process dies.
   */
  readonly #own: PostgresDatabase
  readonly #options: NodeOptions
  readonly #lease: Lease
  readonly #listeners: (() => void)[] = []
  #released: (sessionId: string) => void = () => undefined
  #url = ''
  #mark = ''
  #node: number | undefined
  /** The `generation` of the database connection that holds the lock. */
  #lockedBy: number | undefined
  #beatenAt = 0
  /** The duration of the last statement about the lease. The next such statement reports it. */
  #latencyMs: number | null = null
  #timer: NodeJS.Timeout | undefined
  /** The last registration or beat. */
  #beating: Promise<void> | undefined
  #watchdog: NodeJS.Timeout | undefined
  #closed = false
  /**
   * Set when the answer to a statement was lost. This node may then own sessions without a record of them in memory.
   */
  #hasLostTrack = false

  constructor(database: PostgresDatabase, own: PostgresDatabase, options: NodeOptions) {
    this.#database = database
    this.#own = own
    this.#options = options
    const lease = options.lease ?? defaultLease
    this.#lease = lease
    const self = () => this.node
    this.settings = new PostgresSharedSettings(database, {
      get id() {
        return self()
      },
      leaseMs: lease.leaseMs,
    })
  }

  /** The id of this node; undefined while it is not registered. */
  get node(): number | undefined {
    const { leaseMs, marginMs } = this.#lease
    // If this process was paused, the timer of the watchdog may be late.
    if (performance.now() - this.#beatenAt >= leaseMs - marginMs) this.#lose()
    return this.#node
  }

  /** The time since this node sent the last confirmed beat, by the clock of the process. */
  get leaseAgeMs(): number | undefined {
    return this.#node === undefined ? undefined : performance.now() - this.#beatenAt
  }

  get mark(): string | undefined {
    return this.#node === undefined ? undefined : this.#mark
  }

  get place(): string {
    return this.#options.place
  }

  /** The owner of a session that is created now. Throws while this node has no lease. */
  newOwner(): NewOwner {
    if (this.#node === undefined) throw noLease()
    return { node: this.#node, place: this.place }
  }

  /** Registers this node, which others reach at `url`, and keeps its lease until `close`. */
  async start(url: string): Promise<void> {
    this.#url = url
    this.#beating = this.#register()
    await this.#beating
    this.#beatLater()
    // A failure is ignored: the next start tries again.
    await removeOldNodes(this.#database).catch(() => undefined)
  }

  async claim(sessionId: string): Promise<Claim> {
    const claimed = await this.#noting(() => this.#claim(sessionId))
    if (claimed) return { type: 'owned', ...claimed }
    const found = await this.find(sessionId)
    // A claim at the session's own place fails only if this node has no lease, or because of a concurrent claim.
    if (found.type === 'awaited' && found.place === this.place) throw noLease()
    return found
  }

  async #claim(sessionId: string): Promise<OwnedSession | undefined> {
    const [claimed] = await this.#database.query<{ term: number; former: string | null }>(claimSession, [
      safeText(sessionId),
      this.#node ?? null,
    ])
    if (!claimed) return undefined
    await this.settings.upToDate()
    return ownedSession(sessionId, claimed)
  }

  async takeCare(sessionId: string): Promise<Claim> {
    // Another caretaker may release the session between two statements.
    for (let attempt = 0; attempt < 10; attempt++) {
      const [claimed] = await this.#database.query<{ term: number; place: string }>(takeCareOfSession, [
        safeText(sessionId),
        this.#node ?? null,
      ])
      if (claimed) {
        await this.settings.upToDate()
        return { type: 'owned', sessionId, term: claimed.term, awaits: claimed.place }
      }
      const found = await this.#lookUp(sessionId)
      if (found.url !== null || found.isPresent) return whereFound(found)
    }
    throw noLease()
  }

  /**
   * Finds the owner or the place of a session, without claiming the session. `awaited` if no other living node owns it.
   */
  async find(sessionId: string): Promise<Exclude<Claim, { type: 'owned' }>> {
    return whereFound(await this.#lookUp(sessionId))
  }

  async #lookUp(sessionId: string): Promise<FoundSession> {
    const values = [safeText(sessionId), this.#node ?? 0]
    const [found] = await this.#database.read<FoundSession>(findSession, values)
    if (!found) throw sessionUnknown(sessionId)
    this.numbers.see([found])
    return found
  }

  /** The other nodes that are not fenced, and whether there are sessions of this place to take over. */
  async scan(): Promise<{ peers: PeerRow[]; hasOrphans: boolean }> {
    const rows = await this.#database.read<PeerRow & { hasOrphans: boolean }>(
      `SELECT n.id, n.url, n.expires_at < clock_timestamp() AS "isExpired", o.found AS "hasOrphans"
       FROM (SELECT EXISTS (${orphansOf('$1')}) AS found) o
         LEFT JOIN nodes n ON n.fenced_at IS NULL AND n.id <> $2`,
      [this.place, this.#node ?? 0],
    )
    const hasOrphans = this.#hasLostTrack || (rows[0]?.hasOrphans ?? false)
    this.numbers.see(rows)
    return { peers: rows.filter(({ id }) => id !== null), hasOrphans: hasOrphans && this.#node !== undefined }
  }

  async release(sessionId: string, term: number): Promise<void> {
    this.#released(sessionId)
    await this.#noting(() =>
      this.#database.query(releaseSession, [safeText(sessionId), term, this.#node ?? null]),
    )
  }

  async adopt(limit: number): Promise<OwnedSession[]> {
    if (this.#node === undefined) return []
    const hasLostTrack = this.#hasLostTrack
    this.#hasLostTrack = false
    return this.#noting(async () => {
      const own = hasLostTrack ? await this.#unsettled() : []
      return [...own, ...(await this.#adopt(limit))]
    })
  }

  /**
   * Runs a change of ownership. If it fails, this node may own sessions that it does not know of; the next `adopt` finds
   * them.
   */
  async #noting<Result>(change: () => Promise<Result>): Promise<Result> {
    try {
      return await change()
    } catch (error) {
      this.#hasLostTrack = true
      throw error
    }
  }

  /** The sessions with work left that this node owns. */
  #unsettled(): Promise<OwnedSession[]> {
    return this.#database.read(unsettledOf, [this.#node ?? null])
  }

  async #adopt(limit: number): Promise<OwnedSession[]> {
    const rows = await this.#database.query<{ state: string; term: number; former: string | null }>(
      adoptSessions,
      [this.#node ?? null, this.place, limit],
    )
    if (rows.length > 0) await this.settings.upToDate()
    return rows.map((row) => ownedSession((JSON.parse(row.state) as { id: string }).id, row))
  }

  /** Calls the listener with each session that this node gives up. */
  onReleased(listener: (sessionId: string) => void): void {
    this.#released = listener
  }

  onLost(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Fences every other node whose lease has expired, so that its sessions can be claimed. Returns their ids. Nodes
   * in `refusing`, whose ports refuse connections, and earlier runs at the address of this node are fenced at once
   * if PostgreSQL has ended their connections too.
   */
  async fenceExpired(refusing: readonly number[] = []): Promise<number[]> {
    return fenceNodes(this.#database, { self: this.#node ?? 0, refusing, url: this.#url })
  }

  async nodes(): Promise<NodeRow[]> {
    const rows = await readNodes(this.#database)
    this.numbers.see(rows.filter(({ isFenced }) => !isFenced))
    return rows.map((row) => ({ ...row, isSelf: row.id === this.#node }))
  }

  nodeOf(sessionId: string): Promise<SessionNodeRow | undefined> {
    return readNodeOf(this.#database, sessionId)
  }

  living(): Promise<string[]> {
    return readLiving(this.#database, this.numbers)
  }

  whereabouts(sessionId: string): Promise<Whereabouts | undefined> {
    return readWhereabouts(this.#database, this.numbers, { sessionId, here: this.place })
  }

  measure(): Promise<DatabaseFacts> {
    return measureDatabase(this.#database)
  }

  /** Gives up every session and the lease, so that other nodes need not wait until the lease expires. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#beating?.catch(() => undefined)
    clearTimeout(this.#watchdog)
    const node = this.#node
    this.#node = undefined
    try {
      if (node !== undefined) await fenceNode(this.#database, node)
    } catch {
      // PostgreSQL is unreachable: the lease expires by itself.
    }
    await this.#own.close()
  }

  /** Registers this node. Before that it owns nothing, so no change of the settings waits for it. */
  async #register(): Promise<void> {
    await this.settings.upToDate()
    const { machine = '', version = '' } = this.#options
    const mark = crypto.randomUUID()
    const sentAt = performance.now()
    const { generation } = this.#own
    const node = { url: this.#url, place: this.place, machine, version, mark }
    const id = await insertNode(this.#own, { ...node, ...this.#facts })
    this.#lockedBy = generation
    this.numbers.registered(id)
    // From now on a change of the settings waits for this node.
    await this.settings.upToDate()
    this.#node = id
    this.#mark = mark
    this.#confirm(sentAt)
    await this.#own.listen()
  }

  /** The values that this node writes with each beat. */
  get #facts() {
    return {
      leaseMs: this.#lease.leaseMs,
      latencyMs: this.#latencyMs,
      settingsSeen: this.settings.applied,
    }
  }

  #beatLater(): void {
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat()
    }, this.#lease.beatMs)
  }

  async #beat(): Promise<void> {
    try {
      if (this.#node === undefined) await this.#register()
      else await this.#extend(this.#node)
    } catch {
      // The next beat tries again. If no beat succeeds in time, the watchdog gives up the lease and all sessions.
    }
    if (!this.#closed) this.#beatLater()
  }

  async #extend(node: number): Promise<void> {
    const sentAt = performance.now()
    const version = await extendNode(this.#own, node, this.#facts)
    if (this.#node !== node) return
    if (version === undefined) return this.#lose()
    this.#confirm(sentAt)
    this.settings.noticed(version)
    await this.#own.listen()
    if (this.#lockedBy !== this.#own.generation) await this.#lock(node)
  }

  /**
   * Takes the advisory lock of this node. PostgreSQL may not have noticed yet that an earlier connection of this
   * process is lost. While that connection holds the lock, the next beat tries again.
   */
  async #lock(node: number): Promise<void> {
    const { generation } = this.#own
    if (await lockNode(this.#own, node)) this.#lockedBy = generation
  }

  /** Called when a beat is confirmed. `sentAt` is the time at which it was sent, by the clock of this process. */
  #confirm(sentAt: number): void {
    this.#beatenAt = sentAt
    this.#latencyMs = performance.now() - sentAt
    if (this.#closed) return
    clearTimeout(this.#watchdog)
    const { leaseMs, marginMs } = this.#lease
    const left = sentAt + leaseMs - marginMs - performance.now()
    this.#watchdog = setTimeout(() => this.#lose(), Math.max(left, 0))
  }

  /** Gives up the id of this node and all its sessions. The next beat registers the node under a new id. */
  #lose(): void {
    if (this.#node === undefined) return
    this.#node = undefined
    clearTimeout(this.#watchdog)
    for (const listener of this.#listeners) listener()
  }
}

function noLease(): ParleyError {
  const message = 'This node is not connected to its database at the moment. Try again.'
  return new ParleyError('busy', message, { details: { isJoining: true } })
}
