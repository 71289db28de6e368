import type { LogCheck } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import { keysOf } from '../../proof/keys.ts'
import { LogVerification } from '../../proof/verify-log.ts'

const pageSize = 1000

/** Checks the log of a session against its seals, with the registered keys. */
export async function checkLog(host: Host, sessionId: string): Promise<LogCheck> {
  const keys = await host.sealKeys()
  const check = new LogVerification(keysOf(keys.map(({ publicKey }) => publicKey)))
  const { seq } = await host.state(sessionId)
  for (let after = 0; after < seq; ) {
    const { events } = await host.read(sessionId, { after, limit: Math.min(pageSize, seq - after) })
    const last = events.at(-1)
    if (!last) break
    for (const { json } of events) check.take(json)
    after = last.seq
  }
  const { events, sealedTo, isLate, seals, findings } = check.result()
  // A session has no seal until the end of its first turn.
  const wrong = seals === 0 ? [] : findings
  return { events, sealedTo, isLate, findings: wrong.map(({ line, text }) => `Event ${line}: ${text}`) }
}
