import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { allScopes } from '@parley/protocol'
import type { Principal } from '../../packages/server/src/access/index.ts'
import { createAlerts } from '../../packages/server/src/alerts/index.ts'
import { createHost } from '../../packages/server/src/index.ts'
import { openSqliteStore } from '../../packages/server/src/stores/sqlite.ts'
import { createBenchAgent, type Task } from './bench-agent.ts'
import { answer, given } from './processes.ts'
import { promptCommand } from './servers.ts'

export type AlertsInput = {
  readonly folder: string
  /** The addresses that get alerts; without them, nothing is sent. */
  readonly targets: readonly { readonly kind: 'webhook' | 'ntfy'; readonly url: string }[]
  readonly waitMs: number
}

/** A host on SQLite whose alerts are sent to these targets. */
const { folder, targets, waitMs } = given<AlertsInput>()
mkdirSync(folder, { recursive: true })
const store = openSqliteStore({ file: join(folder, 'parley.sqlite') })
const owner: Principal = {
  person: { id: 'per_owner', name: 'Owner' },
  kind: 'token',
  id: 'tok_machine',
  name: 'this machine',
  scopes: new Set(allScopes),
}
const alerts = createAlerts({
  store,
  principalOf: async () => owner,
  ledgerHead: async () => undefined,
  url: () => 'http://127.0.0.1:4747',
  settings: { privateTargets: true, waitMs },
  problem: (error, doing) => console.error(`could not ${doing}`, error),
})
const host = await createHost({ adapters: [createBenchAgent()], store, observer: alerts.observer })
for (const target of targets) await (await alerts.targets()).add(owner, target)
await alerts.start()
const { id } = await host.create({ agent: 'bench', cwd: folder })

const calls = {
  /** Runs `count` turns with this task, one after another. Returns the seconds that they took. */
  async turns({ task, count }: { task: Task; count: number }): Promise<number> {
    const start = performance.now()
    for (let turn = 0; turn < count; turn++) {
      const ended = Promise.withResolvers<void>()
      const { head } = await host.read(id, { limit: 1 })
      const stop = await host.follow(
        id,
        { after: head },
        {
          following: () => undefined,
          caughtUp: () => undefined,
          ended: () => undefined,
          deliver(batch) {
            if (batch.some((item) => item.kind === 'event' && item.json.includes('"type":"turn.ended"')))
              ended.resolve()
          },
        },
      )
      await host.command(id, promptCommand(task) as never)
      await ended.promise
      stop()
    }
    return (performance.now() - start) / 1000
  },
}
export type AlertsCalls = typeof calls

answer(calls, async () => {
  await alerts.close()
  await host.close()
  await store.close()
})
