import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { SessionEvent } from '@parley/protocol'
import {
  type HostUnderTestOptions,
  hostUnderTest,
  permission,
  type SessionUnderTest,
} from '../core/host-under-test.ts'
import type { Sealer } from '../core/seal-chain.ts'
import { signedText } from '../core/seal-text.ts'
import type { StoredEvent } from '../core/session-store.ts'
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

/** The seal that a version without seeds writes after these lines. */
export function sealByOldRules(
  lines: readonly string[],
  { keyId, sign }: Pick<Sealer, 'keyId' | 'sign'>,
): StoredEvent {
  const events = lines.map((line) => JSON.parse(line) as SessionEvent)
  const created = events[0]?.type === 'session.created' ? events[0] : undefined
  const last = events.findLast(
    (event) => event.type === 'log.sealed' && event.seq > (created?.forkedFrom?.seq ?? 0),
  )
  const from = last?.seq ?? 1
  const prev = last?.type === 'log.sealed' ? last.hash : ''
  const sessionId = created?.sessionId ?? ''
  const to = lines.length
  const leaves = lines.slice(from - 1).map((line) => createHash('sha256').update(line).digest())
  const hash = createHash('sha256')
    .update(`parley seal 1\n${sessionId}\n${from}\n${prev}\n`)
    .update(Buffer.concat(leaves))
    .update(`\n${to}`)
    .digest('base64url')
  const about = { seq: to + 1, at: events.at(-1)?.at ?? 0, sessionId, type: 'log.sealed' }
  return { seq: to + 1, json: signedText(JSON.stringify({ ...about, from, to, prev, hash, keyId }), sign) }
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
