import {
  type Actor,
  applyToState,
  defined,
  type EventOf,
  emptyState,
  isKnown,
  ParleyError,
  redactedFields,
  type SessionEvent,
  type SessionState,
  type SessionSummary,
  summarise,
} from '@parley/protocol'
import type { OpenSessions } from './open-sessions.ts'
import { leafOfRedacted, readSeals, withoutSaltOf } from './redacted-seals.ts'
import type { Sealer } from './seal-chain.ts'
import { signedText } from './seal-text.ts'
import { withEvent } from './session-log.ts'
import type { SessionServices } from './session-services.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'

export type Redaction = { readonly seq: number; readonly reason: string }

type Request = Redaction & { readonly sessionId: string; readonly by: Actor | undefined }

/**
 * Replaces the content of one event, and removes its salt from the seals. The log is sealed first, so that a seal
 * contains the leaf of the event. Readers are disconnected, and read the log again, because it has a new epoch.
 */
export async function redactEvent(
  services: SessionServices,
  sessions: OpenSessions,
  request: Request,
): Promise<SessionSummary> {
  const { clock, ids, sealer, store } = services
  const { sessionId, seq, reason, by } = request
  if (!sealer)
    throw new ParleyError('not_supported', 'This server keeps no seals, so no event can be redacted.')
  let redacted: SessionState | undefined
  const at = clock.now()
  await original(store, request)
  await sessions.rewrite(sessionId, async (term) => {
    const found = await original(store, request)
    const seals = await readSeals(store, sessionId, seq)
    const event = replacement(found, { ...request, at, leaf: leafOfRedacted(found.stored, seals), sealer })
    redacted = await refolded(store, sessionId, { event, epoch: ids('epo') })
    const { epoch } = redacted
    const about = { subject: sessionId, ...defined({ actor: by }), data: { seq, reason } }
    const ledger = [{ at, kind: 'event.redacted', ...about }]
    const events = [event, ...withoutSaltOf(seq, seals, sealer)]
    await store.redact({ sessionId, events, epoch, state: redacted, ledger, ...defined({ term }) })
  })
  if (!redacted) throw new ParleyError('internal_error', 'The event was not redacted.')
  services.news.rewritten(redacted)
  return summarise(redacted)
}

type Original = {
  readonly stored: StoredEvent
  readonly event: SessionEvent
  readonly kept: Record<string, unknown>
}

async function original(store: SessionStore, { sessionId, seq }: Request): Promise<Original> {
  const [stored] = await store.read(sessionId, { after: seq - 1, limit: 1 })
  if (stored?.seq !== seq) throw new ParleyError('not_found', `Session ${sessionId} has no event ${seq}.`)
  const event = JSON.parse(stored.json) as SessionEvent
  const kept = isKnown(event) ? redactedFields(event) : undefined
  if (!kept)
    throw new ParleyError(
      'not_supported',
      `Event ${seq} is ${event.type}: it has no content that can be redacted.`,
    )
  return { stored, event, kept }
}

type Signing = Request & { readonly at: number; readonly leaf: string; readonly sealer: Sealer }

function replacement(
  { event: { at, turnId, actor, type: was }, kept }: Original,
  { sessionId, seq, reason, by, at: redactedAt, leaf, sealer }: Signing,
): StoredEvent {
  const event: Omit<EventOf<'event.redacted'>, 'signature'> = {
    seq,
    at,
    sessionId,
    ...defined({ turnId, actor }),
    type: 'event.redacted',
    was,
    kept,
    leaf,
    reason,
    redactedAt,
    ...defined({ redactedBy: by }),
    keyId: sealer.keyId,
  }
  return { seq, json: signedText(JSON.stringify(event), sealer.sign) }
}

const pageSize = 1000

/** The state of the log with the replaced event. The stored state could contain the removed content. */
async function refolded(
  store: SessionStore,
  sessionId: string,
  { event, epoch }: { readonly event: StoredEvent; readonly epoch: string },
): Promise<SessionState> {
  let state = emptyState(sessionId, epoch)
  for (;;) {
    const page = await store.read(sessionId, { after: state.seq, limit: pageSize })
    if (page.length === 0) return state
    for (const { seq, json } of page) {
      if (seq !== event.seq) state = withEvent(state, json)
      else state = applyToState(state, JSON.parse(event.json) as SessionEvent)
    }
  }
}
