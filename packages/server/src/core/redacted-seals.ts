import type { EventOf, SessionEvent } from '@parley/protocol'
import { readEvents } from './read-events.ts'
import { Salts, withoutSalt } from './salts.ts'
import type { Sealer } from './seal-chain.ts'
import { leafOf, signedText, splitSecrets, splitSigned, withSecrets } from './seal-text.ts'
import type { SessionStore, StoredEvent } from './session-store.ts'
import { shownText } from './shown-secrets.ts'

/**
 * The seals of a log, as a redaction needs and changes them. After a redaction, nothing in the log may give the salt of
 * the redacted event, because its leaf would then confirm a guess of its text.
 */
type FoundSeal = {
  readonly text: string
  readonly event: EventOf<'log.sealed'>
  /** The log is a fork, and the seal is a copy of a seal of its original. It vouches for nothing. */
  readonly isCopy: boolean
}

const pageSize = 1000

/** The seals after an event, in order. */
export async function readSeals(
  store: Pick<SessionStore, 'read'>,
  sessionId: string,
  seq: number,
): Promise<FoundSeal[]> {
  const [first] = await readEvents(store, sessionId, { limit: 1 })
  const created = first && (JSON.parse(first.json) as SessionEvent)
  const copied = (created?.type === 'session.created' && created.forkedFrom?.seq) || 0
  const seals: FoundSeal[] = []
  for (let after = seq; ; ) {
    const page = await readEvents(store, sessionId, { after, limit: pageSize })
    for (const { json } of page) {
      if (!json.includes('"type":"log.sealed"')) continue
      const event = JSON.parse(json) as SessionEvent
      if (event.type === 'log.sealed') seals.push({ text: json, event, isCopy: event.seq <= copied })
    }
    const last = page.at(-1)
    if (!last) return seals
    after = last.seq
  }
}

/**
 * The leaf of an event in the seal that vouches for it. Empty if the salt of the event is missing because the log is
 * damaged: an unsalted leaf would confirm a guess, and the seal matches no leaf anyway.
 */
export function leafOfRedacted({ seq, json }: StoredEvent, seals: readonly FoundSeal[]): string {
  const seal = coveringSeal(seq, seals)
  if (!seal) return ''
  const text = shownText(json)
  const { secrets } = splitSecrets(seal.text)
  if (!secrets) return encoded(leafOf(text))
  const salt = new Salts(secrets).at(seq - seal.event.from)
  return salt === undefined ? '' : encoded(leafOf(text, salt))
}

/**
 * The seals from which the salt of the event could be derived, without it. A copied seal keeps no secrets. A seal of
 * an earlier version may cover a seal with secrets; the changed seal then keeps its leaf, and is signed again.
 */
export function withoutSaltOf(seq: number, seals: readonly FoundSeal[], sealer: Sealer): StoredEvent[] {
  return seals.flatMap((seal) => {
    const { text, secrets } = splitSecrets(seal.text)
    const { event, isCopy } = seal
    if (!secrets || seq < event.from || seq > event.to) return []
    const next = coveringSeal(event.seq, seals)
    const isUnsalted = next !== undefined && splitSecrets(next.text).secrets === undefined
    const signed = isUnsalted ? signedAgain(seal, sealer) : text
    const count = event.to - event.from + 1
    const json = isCopy ? signed : withSecrets(signed, withoutSalt(secrets, seq - event.from, count))
    return [{ seq: event.seq, json }]
  })
}

function coveringSeal(seq: number, seals: readonly FoundSeal[]): FoundSeal | undefined {
  return seals.find(({ event, isCopy }) => !isCopy && event.from <= seq && seq <= event.to)
}

/** The seal with its leaf as a signed field. */
function signedAgain({ text }: FoundSeal, { keyId, sign }: Sealer): string {
  const signed = splitSecrets(text).text
  const unsigned = JSON.parse(splitSigned(signed)?.unsigned ?? signed) as EventOf<'log.sealed'>
  return signedText(JSON.stringify({ ...unsigned, keyId, leaf: encoded(leafOf(text)) }), sign)
}

function encoded(leaf: string): string {
  return Buffer.from(leaf, 'binary').toString('base64url')
}
