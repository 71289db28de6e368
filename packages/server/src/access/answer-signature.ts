import { createPublicKey, verify } from 'node:crypto'
import { answerText, type Command, type CommandOf, decisionText, ParleyError } from '@parley/protocol'
import { keyIdOf } from '../core/index.ts'
import type { Principal } from './principal.ts'

/**
 * Checks the signature of an answer, if the command has one. Throws ParleyError `forbidden` unless the signature is
 * that of the sending device: an unchecked signature must not get into a log.
 */
export function expectSigned(
  { publicKey }: Pick<Principal, 'publicKey'>,
  sessionId: string,
  command: Command,
): void {
  if (command.type !== 'permission.decide' && command.type !== 'question.answer') return
  const { signature } = command
  if (!signature) return
  if (publicKey === undefined)
    throw new ParleyError(
      'forbidden',
      'Only a signed-in browser can sign an answer. Send it without a signature.',
    )
  const der = Buffer.from(publicKey, 'base64url')
  const text = signedTextOf(sessionId, command)
  if (signature.keyId === keyIdOf(der) && isSigned(der, text, signature.value)) return
  throw new ParleyError(
    'forbidden',
    'The signature does not match this answer. Reload the page, and answer again.',
  )
}

function signedTextOf(
  sessionId: string,
  command: CommandOf<'permission.decide' | 'question.answer'>,
): string {
  const { requestId, commandId } = command
  if (command.type === 'question.answer')
    return answerText({ sessionId, requestId, answers: command.answers, commandId })
  const { decision, scope, input, inputHash } = command
  if (inputHash === undefined)
    throw new ParleyError('validation_error', 'A signed decision must name the inputHash of its request.')
  return decisionText({ sessionId, requestId, inputHash, decision, scope, input, commandId })
}

function isSigned(der: Buffer, text: string, signature: string): boolean {
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  const bytes = Buffer.from(signature, 'base64url')
  return verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}
