import type { LogCheck } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import { keysOf } from '../../proof/keys.ts'
import { LogVerification, SealReader } from '../../proof/verify-log.ts'

const pageSize = 1000

/** Checks the log of a session against its seals, with the registered keys. Reads the log twice: see `SealReader`. */
export async function checkLog(host: Host, sessionId: string): Promise<LogCheck> {
  const keys = await host.sealKeys()
  const { seq } = await host.state(sessionId)
  const seals = new SealReader()
  for await (const line of linesOf(host, sessionId, seq)) seals.take(line)
  const check = new LogVerification(keysOf(keys.map(({ publicKey }) => publicKey)), seals.secrets)
  for await (const line of linesOf(host, sessionId, seq)) check.take(line)
  const { events, sealedTo, isLate, seals: sealed, findings } = check.result()
  // A session has no seal until the end of its first turn.
  const wrong = sealed === 0 ? [] : findings
  return { events, sealedTo, isLate, findings: wrong.map(({ line, text }) => `Event ${line}: ${text}`) }
}

async function* linesOf(host: Host, sessionId: string, upTo: number): AsyncGenerator<string> {
  for (let after = 0; after < upTo; ) {
    const { events } = await host.read(sessionId, { after, limit: Math.min(pageSize, upTo - after) })
    const last = events.at(-1)
    if (!last) return
    for (const { json } of events) yield json
    after = last.seq
  }
}
