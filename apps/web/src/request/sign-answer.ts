import { answerText, decisionText } from '@parley/protocol'
import { base64url, storedDevice } from '../base/device.ts'
import type { AnswerCommand } from '../call/answer-text.logic.ts'

/** The answer with the signature of this browser, if it has a key that signs answers. */
export async function signAnswer(
  sessionId: string,
  answer: AnswerCommand,
  commandId: string,
): Promise<AnswerCommand> {
  const device = await storedDevice()
  const text = textOf(sessionId, answer, commandId)
  if (!device || !('key' in device) || device.keyId === undefined || text === undefined) return answer
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const bytes = await crypto.subtle.sign(algorithm, device.key, new TextEncoder().encode(text))
  return { ...answer, signature: { keyId: device.keyId, value: base64url(bytes) } }
}

/** The text to sign; undefined if an earlier version of this page stored the answer, without the hash of the input. */
function textOf(sessionId: string, answer: AnswerCommand, commandId: string): string | undefined {
  if (answer.type === 'question.answer') return answerText({ sessionId, ...answer, commandId })
  const { inputHash, scope = 'once' } = answer
  return inputHash === undefined
    ? undefined
    : decisionText({ sessionId, ...answer, inputHash, scope, commandId })
}
