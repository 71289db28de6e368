import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Bench, BenchSession } from './bench.ts'

/**
 * A bench for several cases, one after the other. A case gets the session of an earlier case with the same settings,
 * and sees only later events. The agent's process is started once for all of them.
 */
export class SharedBench extends Bench {
  readonly #idle = new Map<string, string>()
  #used = new Map<string, string>()

  override async session(settings: Parameters<Bench['session']>[0] = {}): Promise<BenchSession> {
    const key = JSON.stringify(settings)
    const id = this.#idle.get(key)
    this.#idle.delete(key)
    const session =
      id === undefined
        ? await super.session(settings)
        : await BenchSession.follow(() => this.host, id, {
            start: (await this.host.state(id)).seq,
            witness: this.witness,
          })
    this.#used.set(key, session.id)
    if (id !== undefined) this.shown.push(session)
    return session
  }

  /** Runs a case. Its sessions are reused if it succeeds and leaves them idle. */
  async run(work: (bench: Bench) => Promise<void>): Promise<void> {
    this.#used = new Map()
    this.shown.length = 0
    this.witness.begin()
    const before = await readdir(this.folder)
    try {
      await work(this)
    } finally {
      const made = (await readdir(this.folder)).filter((name) => !before.includes(name))
      await Promise.all(made.map((name) => rm(join(this.folder, name), { recursive: true })))
    }
    for (const [key, id] of this.#used) {
      const { status, queue } = await this.host.state(id)
      if (status === 'idle' && queue.length === 0) this.#idle.set(key, id)
    }
  }
}
