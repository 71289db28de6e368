import type { KeyObject } from 'node:crypto'
import type { EventOf, SessionEvent } from '@parley/protocol'
import { leafOf, Salts, SealHash, type SealSecrets, splitSecrets, splitSigned } from '../core/index.ts'
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
  lines: readonly string[],
  keys: Keys,
  { head, deviceKeys }: { readonly head?: SessionHead | undefined; readonly deviceKeys?: Keys } = {},
): VerifiedLog {
  const seals = new SealReader()
  for (const line of lines) seals.take(line)
  const check = new LogVerification(keys, seals.secrets, deviceKeys)
  for (const line of lines) check.take(line)
  return check.result(head)
}

/**
 * Reads the secrets of the seals of a log, before the lines are verified: a seal follows its events, so its secrets would
 * be known too late. The secrets are not signed, but with wrong secrets no seal matches.
 */
export class SealReader {
  /** One entry for each seal, in order; undefined for a seal of an earlier version. */
  readonly secrets: (SealSecrets | undefined)[] = []
  #copied: number | undefined

  take(line: string): void {
    if (this.#copied !== undefined && !line.includes('"type":"log.sealed"')) return
    const event = parsed(line)
    if (!event) return
    this.#copied ??= (event.type === 'session.created' && event.forkedFrom?.seq) || 0
    // In a fork, the seals up to `copied` are copies, which vouch for nothing.
    if (event.type === 'log.sealed' && event.seq > this.#copied) this.secrets.push(splitSecrets(line).secrets)
  }
}

/** Checks the lines of a log one after another. */
export class LogVerification {
  readonly #keys: Keys
  readonly #secrets: readonly (SealSecrets | undefined)[]
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
  #salts: Salts | undefined
  /** The number of seals so far, including those that do not match. */
  #sealed = 0
  #isLate = false
  #lastSeal: SessionHead | undefined

  /** `secrets` are those of a `SealReader` of the same lines. */
  constructor(keys: Keys, secrets: readonly (SealSecrets | undefined)[], deviceKeys?: Keys) {
    this.#keys = keys
    this.#secrets = secrets
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
    const copied = this.#forkedFrom?.seq ?? 0
    if (event.type === 'event.redacted') this.#takeRedacted(event, line)
    if (event.type === 'log.sealed')
      event.seq > copied ? this.#takeSeal(event, line) : this.#takeCopiedSeal(event, line)
    this.#calls.take(event)
    // The copied answers of a fork are signed for the original session, so they are not checked.
    const wrong = event.seq > copied ? this.#answers?.take(event) : undefined
    if (wrong !== undefined) this.#find(wrong)
    this.#hash?.add(leafOf(line, this.#salts && (this.#salts.at(event.seq - this.#from) ?? '')))
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
    this.#startSeal(event.sessionId)
    if (event.type === 'session.created') this.#forkedFrom = event.forkedFrom
    else this.#find('is not the first event of a session')
  }

  #takeRedacted(event: EventOf<'event.redacted'>, line: string): void {
    const { seq, was, reason, keyId } = event
    if (!this.#isSigned(keyId, line)) this.#find(`(event ${seq}) was redacted without a valid signature`)
    this.#redacted.push({ seq, was, reason })
  }

  #takeSeal(event: EventOf<'log.sealed'>, line: string): void {
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
    this.#sealed++
    this.#startSeal(event.sessionId)
  }

  /** Starts to compute the hash of the next seal. Events that no seal follows need no leaves. */
  #startSeal(sessionId: string): void {
    const secrets = this.#secrets[this.#sealed]
    this.#salts = secrets && new Salts(secrets)
    this.#hash =
      this.#sealed < this.#secrets.length
        ? new SealHash(sessionId, this.#from, this.#prev, secrets ? 2 : 1)
        : undefined
  }

  /** A copied seal vouches for nothing. Its leaf may differ from the hash of its line only if the seal is signed. */
  #takeCopiedSeal({ seq, keyId, leaf }: EventOf<'log.sealed'>, line: string): void {
    if (leaf !== undefined && !this.#isSigned(keyId, line))
      this.#find(`(event ${seq}) was changed without a valid signature`)
  }

  #isSigned(keyId: string, line: string): boolean {
    const key: KeyObject | undefined = this.#keys.get(keyId)
    const signed = splitSigned(splitSecrets(line).text)
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
