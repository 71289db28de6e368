import {
  type Answers,
  type ChatRequest,
  type CommandInput,
  isRecord,
  ParleyError,
  type Question,
  Answers as RecordOfAnswers,
} from '@parley/protocol'
import { hashOf } from '../../core/index.ts'
import type { TurnRequest } from '../../transcripts/turn-requests.ts'
import type { GivenAnswer } from './chat-request.ts'

type Requests = ReadonlyMap<string, TurnRequest>

/**
 * Converts the answers of a page to commands. A message contains all its answers, so earlier answers are sent
 * again with each new answer. A repeated answer is skipped if it matches the recorded decision, and refused
 * with a conflict if it does not.
 */
export function commandsFor(
  given: readonly GivenAnswer[],
  requests: Requests,
  permissions: ChatRequest['permissions'] = {},
): CommandInput[] {
  const commands = given.map((answer) =>
    answer.kind === 'approval' ? decision(answer, requests, permissions) : output(answer, requests),
  )
  if (commands.every((command) => command === undefined) && !given.some((one) => isKnown(one, requests))) {
    throw new ParleyError(
      'validation_error',
      'The body contains no new message: its last message is neither from a user nor an answer to an open permission or question.',
    )
  }
  const fresh = commands.filter((command) => command !== undefined)
  return [...new Map(fresh.map((command) => [command.commandId, command])).values()]
}

type Approval = Extract<GivenAnswer, { kind: 'approval' }>
type Output = Extract<GivenAnswer, { kind: 'output' }>

function decision(
  { approvalId, approved, reason }: Approval,
  requests: Requests,
  permissions: NonNullable<ChatRequest['permissions']>,
): CommandInput | undefined {
  const request = requests.get(approvalId)
  if (request?.asked.type !== 'permission.requested') {
    throw new ParleyError('not_found', 'That approval does not belong to a request of this message.', {
      details: { approvalId },
    })
  }
  if (request.resolved) {
    const { outcome } = request.resolved
    if ((outcome === 'allowed') === approved) return undefined
    throw settled(approvalId, outcome)
  }
  const beyond = Object.hasOwn(permissions, approvalId) ? permissions[approvalId] : undefined
  const decided = approved ? ('allow' as const) : ('deny' as const)
  return {
    type: 'permission.decide',
    commandId: `chat:${approvalId}:${decided}`,
    requestId: approvalId,
    decision: decided,
    ...(reason !== undefined && { message: reason }),
    ...beyond,
  }
}

function output({ toolCallId, output, refused }: Output, requests: Requests): CommandInput | undefined {
  const request = questionOf(toolCallId, requests)
  if (request?.asked.type !== 'question.asked') return undefined
  const { requestId, questions } = request.asked
  const { resolved } = request
  if (refused !== undefined) {
    if (resolved) return undefined
    throw new ParleyError(
      'not_supported',
      'A question cannot be refused: answer it, or stop the turn (POST /api/chat/:id/stop).',
      { details: { requestId } },
    )
  }
  const answers = answersOf(output, questions)
  if (!resolved) {
    const commandId = `chat:${requestId}:${hashOf(answers).slice(0, 20)}`
    return { type: 'question.answer', commandId, requestId, answers }
  }
  const recorded = resolved.type === 'question.resolved' ? resolved.answers : undefined
  if (!recorded || hashOf(recorded) !== hashOf(answers)) throw settled(requestId, resolved.outcome)
  return undefined
}

function isKnown(answer: GivenAnswer, requests: Requests): boolean {
  return answer.kind === 'approval' || questionOf(answer.toolCallId, requests) !== undefined
}

function questionOf(part: string, requests: Requests): TurnRequest | undefined {
  for (const request of requests.values()) {
    if (request.asked.type === 'question.asked' && request.parts.at(-1) === part) return request
  }
  return undefined
}

/** Accepts `{ answers }`, the answers themselves, or, for a single question, just its answer. */
function answersOf(output: unknown, questions: readonly Question[]): Answers {
  const [only, ...others] = questions
  if (only && others.length === 0 && (typeof output === 'string' || Array.isArray(output))) {
    return checked({ [only.id]: output })
  }
  const wrapped = isRecord(output) && isRecord(output.answers) ? output.answers : output
  return checked(wrapped)
}

function checked(value: unknown): Answers {
  const parsed = RecordOfAnswers.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ParleyError(
    'validation_error',
    'The output of a question must be { answers: { [question id]: label, labels or text } }.',
  )
}

function settled(requestId: string, outcome: string): ParleyError {
  return new ParleyError(
    'conflict',
    `That request is already resolved: ${outcome}. Reload the chat to see it.`,
    {
      details: { requestId, outcome },
    },
  )
}
