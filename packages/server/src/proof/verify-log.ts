import type { KeyObject } from 'node:crypto'
import type { SessionEvent } from '@parley/protocol'
import { leafOf, SealHash, splitSigned } from '../core/index.ts'
import { AnswerCheck } from './answer-check.ts'
import { CallList, type VerifiedCall } from './call-list.ts'
import type { Keys } from './keys.ts'
import { isSignedBy } from './seal-key.ts'

/** Something that is wrong with a log. `line` counts from 1. */
export type Finding = { readonly line: number; readonly text: string }

/** The seq and the hash of a seal, as `parley audit head <session>` prints them. */
export type SessionHead = { readonly seq: number; readonly hash: string }

export type VerifiedLog = {
  readonly sessionId: string
  readonly events: number
  /** The last event that a seal vouches for. */
  readonly sealedTo: number
  readonly seals: number
  readonly lastSeal?: SessionHead
  /** The seals, in order. */
  readonly sealed: readonly SessionHead[]
  /** The ids of the keys that signed the seals. */
  readonly keyIds: readonly string[]
  /** True if the first seal was added to a log that an older version had begun. */
  readonly isLate: boolean
  readonly forkedFrom?: { readonly sessionId: string; readonly seq: number }
  readonly redacted: readonly { readonly seq: number; readonly was: string; readonly reason: string }[]
  /** The calls that ran. The verification also fails if one of them has no decision. */
  readonly calls: readonly VerifiedCall[]
  /** The number of answers with a valid signature of a browser. */
  readonly signedAnswers: number
  readonly findings: readonly Finding[]
}

/** Checks the lines of a log against its seals. `head` is a seal that the log must contain. */
export function verifyLog(
  lines: Iterable<string>,
  keys: Keys,
  { head, deviceKeys }: { readonly head?: SessionHead | undefined; readonly deviceKeys?: Keys } = {},
): VerifiedLog {
  const check = new LogVerification(keys, deviceKeys)
  for (const line of lines) check.take(line)
  return check.result(head)
}

/** Checks the lines of a log one after another. */
export class LogVerification {
  readonly #keys: Keys
  readonly #findings: Finding[] = []
  readonly #redacted: VerifiedLog['redacted'][number][] = []
  readonly #seals = new Map<number, string>()
  readonly #keyIds = new Set<string>()
  readonly #calls = new CallList()
  readonly #answers: AnswerCheck | undefined
  #line = 0
  #sessionId: string | undefined
  #seq = 0
  #forkedFrom: VerifiedLog['forkedFrom']
  #from = 1
  #prev = ''
  #hash: SealHash | undefined
  #isLate = false
  #lastSeal: SessionHead | undefined

  constructor(keys: Keys, deviceKeys?: Keys) {
    this.#keys = keys
    this.#answers = deviceKeys && new AnswerCheck(deviceKeys)
  }

  take(line: string): void {
    this.#line++
    const event = parsed(line)
    if (!event) return this.#find('is not an event')
    this.#takeFirst(event)
    if (event.sessionId !== this.#sessionId) this.#find(`belongs to the session ${event.sessionId}`)
    if (event.seq !== this.#seq + 1)
      this.#find(`is event ${event.seq}, but event ${this.#seq + 1} must follow`)
    this.#seq = event.seq
    if (event.type === 'event.redacted') this.#takeRedacted(event, line)
    const isOwnSeal = event.type === 'log.sealed' && event.seq > (this.#forkedFrom?.seq ?? 0)
    if (isOwnSeal) this.#takeSeal(event, line)
    this.#calls.take(event)
    // The copied answers of a fork are signed for the original session, so they are not checked.
    const wrong = event.seq > (this.#forkedFrom?.seq ?? 0) ? this.#answers?.take(event) : undefined
    if (wrong !== undefined) this.#find(wrong)
    this.#hash?.add(leafOf(line))
  }

  result(head?: SessionHead): VerifiedLog {
    const findings = this.#findings
    if (this.#line === 0) findings.push({ line: 0, text: 'the file has no events' })
    else if (!this.#lastSeal) findings.push({ line: this.#line, text: 'the log has no seal' })
    if (head && this.#seals.get(head.seq) !== head.hash)
      findings.push({
        line: this.#line,
        text: `the log does not have the seal ${head.seq}:${head.hash}: its end was cut off or replaced`,
      })
    const sealedTo = this.#lastSeal?.seq ?? 0
    return {
      sessionId: this.#sessionId ?? '',
      events: this.#line,
      sealedTo,
      seals: this.#seals.size,
      ...(this.#lastSeal && { lastSeal: this.#lastSeal }),
      sealed: [...this.#seals].map(([seq, hash]) => ({ seq, hash })),
      keyIds: [...this.#keyIds],
      isLate: this.#isLate,
      ...(this.#forkedFrom && { forkedFrom: this.#forkedFrom }),
      redacted: this.#redacted,
      calls: this.#calls.list,
      signedAnswers: this.#answers?.checked ?? 0,
      findings,
    }
  }

  #takeFirst(event: SessionEvent): void {
    if (this.#sessionId !== undefined) return
    this.#sessionId = event.sessionId
    this.#hash = new SealHash(event.sessionId, 1, '')
    if (event.type === 'session.created') this.#forkedFrom = event.forkedFrom
    else this.#find('is not the first event of a session')
  }

  #takeRedacted(event: Extract<SessionEvent, { type: 'event.redacted' }>, line: string): void {
    const { seq, was, reason, keyId } = event
    if (!this.#isSigned(keyId, line)) this.#find(`(event ${seq}) was redacted without a valid signature`)
    this.#redacted.push({ seq, was, reason })
  }

  #takeSeal(event: Extract<SessionEvent, { type: 'log.sealed' }>, line: string): void {
    const { seq, from, to, prev, hash, keyId, late } = event
    const follows = from === this.#from && prev === this.#prev && to === seq - 1
    if (!follows) this.#find(`(seal ${seq}) does not follow the seal before it`)
    else if (this.#hash?.upTo(to) !== hash)
      this.#find(`(seal ${seq}) does not match: one of the events ${from} to ${to} was changed`)
    if (!this.#isSigned(keyId, line)) this.#find(`(seal ${seq}) has no valid signature of a known key`)
    if (late) this.#isLate = true
    this.#keyIds.add(keyId)
    this.#seals.set(seq, hash)
    this.#lastSeal = { seq, hash }
    this.#from = seq
    this.#prev = hash
    this.#hash = new SealHash(event.sessionId, seq, hash)
  }

  #isSigned(keyId: string, line: string): boolean {
    const key: KeyObject | undefined = this.#keys.get(keyId)
    const signed = splitSigned(line)
    return key !== undefined && signed !== undefined && isSignedBy(key, signed.unsigned, signed.signature)
  }

  #find(text: string): void {
    this.#findings.push({ line: this.#line, text })
  }
}

function parsed(line: string): SessionEvent | undefined {
  try {
    const value = JSON.parse(line) as SessionEvent
    return typeof value.seq === 'number' && typeof value.sessionId === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
