import { join } from 'node:path'
import {
  type HostUnderTestOptions,
  hostUnderTest,
  permission,
  type SessionUnderTest,
} from '../core/host-under-test.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { keysOf } from './keys.ts'
import { openSealer } from './seal-key.ts'

type SealedStore = ReturnType<typeof createMemoryStore>

/** A host whose logs have seals, on a memory store unless another store is given. */
export async function sealedHostUnderTest(
  store: SealedStore = createMemoryStore(),
  options: Pick<HostUnderTestOptions, 'store' | 'agent'> = {},
) {
  const folder = new TemporaryFolder()
  const { publicKey, ...sealer } = openSealer(join(folder.path, 'seal-key.pem'))
  const world = await hostUnderTest({ store, ledger: store, sealer, ...options })
  return {
    world,
    store,
    sealer,
    publicKey,
    keys: keysOf([publicKey]),
    /** The lines of an export. */
    async linesOf(id: string): Promise<string[]> {
      const { events } = await world.host.read(id, { limit: 100_000 })
      return events.map(({ json }) => json)
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

/** Plays turns with text, a call that a person allows and a call that a person denies. */
export async function playDecisions(session: SessionUnderTest): Promise<void> {
  await session.play({ type: 'text', text: 'First, a text.' })
  for (const decision of ['allow', 'deny'] as const) {
    await session.submit(permission(`${decision}.txt`), { type: 'text', text: 'Done.' })
    await session.decide(decision)
    await session.idle()
  }
}
