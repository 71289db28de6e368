import type { SharedSettings } from '../../core/shared-settings.ts'
import type { PostgresDatabase } from './database.ts'

const pollMs = { first: 5, most: 100 }

/** The node for which settings are applied. `id` is undefined while it is not registered. */
type SettingsNode = { readonly id: number | undefined; readonly leaseMs: number }

/**
 * Keeps the settings of all nodes on a database in sync. Every change raises a version, in its own transaction
 * (schema.ts). Each node records the version that it has applied. It looks for a newer version with each beat (the
 * periodic extension of its lease) and when another node rings (sends a notification). If a ring is lost, the next beat
 * finds the change.
 */
export class PostgresSharedSettings implements SharedSettings {
  readonly #database: PostgresDatabase
  readonly #node: SettingsNode
  readonly #listeners: (() => Promise<void>)[] = []
  readonly #lossListeners: (() => void)[] = []
  #applied = 0
  #refreshing: Promise<void> | undefined

  constructor(database: PostgresDatabase, node: SettingsNode) {
    this.#database = database
    this.#node = node
  }

  /** The version of the settings that this node has applied. */
  get applied(): number {
    return this.#applied
  }

  onChanged(apply: () => Promise<void>): void {
    this.#listeners.push(apply)
  }

  get isWaitedFor(): boolean {
    return this.#node.id !== undefined
  }

  onLost(listener: () => void): void {
    this.#lossListeners.push(listener)
  }

  /** Called when this node has lost its lease. */
  lost(): void {
    for (const listener of this.#lossListeners) listener()
  }

  async changed(): Promise<void> {
    const version = await this.#version()
    await this.#database.ring()
    await Promise.all([this.#upTo(version), this.#confirmed(version)])
  }

  /**
   * Resolves when the newest version is applied. A node calls this after it has claimed a session, because the previous
   * owner may have stored new rules. The version must be read by a separate statement: a claim that has waited for an
   * append sees only the row of the session as that append has written it, not the new version.
   */
  async upToDate(): Promise<void> {
    await this.#upTo(await this.#version())
  }

  /** Called when a node rings. After a failure, the next beat tries again. */
  look(): void {
    this.upToDate().catch(ignore)
  }

  /** Called by each beat, with the version in the database. */
  noticed(version: number): void {
    // After the database has lost commits, its version is lower than the applied one: applies the settings again.
    if (version < this.#applied) this.#applied = 0
    this.#upTo(version).catch(ignore)
  }

  /** Resolves when this version or a newer version is applied. */
  async #upTo(version: number): Promise<void> {
    if (this.#applied >= version) return
    // A refresh that is running may have read an older version. A refresh that starts now reads the current version.
    await this.#refreshing?.catch(ignore)
    if (this.#applied >= version) return
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    await this.#refreshing
  }

  async #refresh(): Promise<void> {
    // The version is read first, so that the settings that are read afterwards are at least as new.
    const version = await this.#version()
    await Promise.all(this.#listeners.map((apply) => apply()))
    this.#applied = version
    const report = 'UPDATE nodes SET settings_seen = $2 WHERE id = $1'
    // If this fails, the next beat reports the version.
    await this.#database.query(report, [this.#node.id ?? 0, version]).catch(ignore)
  }

  async #version(): Promise<number> {
    const [row] = await this.#database.read<{ version: number }>('SELECT version FROM settings_version')
    return row?.version ?? 0
  }

  /**
   * Resolves when every other node has applied this version or is dead. A node that has not applied it within the
   * time of a lease is fenced. It then cannot extend its lease, and gives its sessions up before the lease ends.
   */
  async #confirmed(version: number): Promise<void> {
    const isLate = 'id <> $1 AND settings_seen < $2 AND expires_at >= clock_timestamp()'
    const values = [this.#node.id ?? 0, version]
    const patientUntil = performance.now() + this.#node.leaseMs
    for (let wait = pollMs.first; ; wait = Math.min(wait * 2, pollMs.most)) {
      const late = await this.#database.read<{ id: number }>(`SELECT id FROM nodes WHERE ${isLate}`, values)
      if (late.length === 0) return
      if (performance.now() > patientUntil)
        await this.#database.query(
          `UPDATE nodes SET fenced_at = clock_timestamp() WHERE fenced_at IS NULL AND ${isLate}`,
          values,
        )
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }
}

const ignore = () => undefined
