import { type KeyObject, verify } from 'node:crypto'
import { answerText, decisionText, type EventOf, type SessionEvent, unredacted } from '@parley/protocol'
import type { Keys } from './keys.ts'

const redacted = Symbol('redacted')

type Resolution = EventOf<'permission.resolved' | 'question.resolved'>

/** Checks the signatures of browsers in the answers of a log. */
export class AnswerCheck {
  readonly #keys: Keys
  readonly #inputHashes = new Map<string, string | typeof redacted>()
  /** The number of signatures that were checked. */
  checked = 0

  /** `keys` are the public keys of browsers. */
  constructor(keys: Keys) {
    this.#keys = keys
  }

  /** The problem with the signature of an answer; undefined if there is none. */
  take(event: SessionEvent): string | undefined {
    const request = unredacted(event)
    if (request.type === 'permission.requested')
      this.#inputHashes.set(request.requestId, request === event ? request.inputHash : redacted)
    if (event.type !== 'permission.resolved' && event.type !== 'question.resolved') return undefined
    const { signature } = event
    if (!signature) return undefined
    const key: KeyObject | undefined = this.#keys.get(signature.keyId)
    if (!key) return `has an answer that is signed with an unknown key, ${signature.keyId}`
    const requestId = event.carriedFrom ?? event.requestId
    // The event of the request was redacted, so the signed text is unknown.
    if (this.#inputHashes.get(requestId) === redacted) return undefined
    this.checked++
    const text = this.#textOf(event, signature.commandId)
    const bytes = Buffer.from(signature.value, 'base64url')
    const isValid = verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes)
    return isValid ? undefined : 'has an answer with an invalid signature'
  }

  #textOf(event: Resolution, commandId: string): string {
    const { sessionId } = event
    const requestId = event.carriedFrom ?? event.requestId
    if (event.type === 'question.resolved')
      return answerText({ sessionId, requestId, answers: event.answers, commandId })
    const { scope = 'once', input } = event
    const decision = event.outcome === 'allowed' ? 'allow' : 'deny'
    const inputHash = String(this.#inputHashes.get(requestId) ?? '')
    return decisionText({ sessionId, requestId, inputHash, decision, scope, input, commandId })
  }
}
