import {
  type Answers,
  type EventOf,
  messageOf,
  ParleyError,
  type PermissionRequest,
  type PermissionScope,
  type QuestionRequest,
} from '@parley/protocol'
import type { Host } from '../../core/host.ts'

export type PermissionDecision = {
  readonly decision: 'allow' | 'deny'
  readonly scope?: PermissionScope
  /** Why not, for the agent to read. */
  readonly message?: string
}
export type RequestContext = {
  readonly sessionId: string
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** Who answers what an agent asks in the middle of a response. */
export type RequestHandlers = {
  /** `deny` (usual): no. `wait`: somebody in another client of the host answers. What a function throws is a no. */
  readonly onPermission?:
    | 'deny'
    | 'wait'
    | ((
        request: PermissionRequest,
        context: RequestContext,
      ) => 'allow' | 'deny' | PermissionDecision | Promise<'allow' | 'deny' | PermissionDecision>)
  /** `decline` (usual): the agent is told that nobody can be asked; where it takes only its own options, the turn fails. */
  readonly onQuestion?:
    | 'decline'
    | 'wait'
    | ((request: QuestionRequest, context: RequestContext) => Answers | Promise<Answers>)
}

type Asked = EventOf<'permission.requested'> | EventOf<'question.asked'>

/**
 * Answers what a turn asks. Says what was denied. Rejects if there can be no answer: the turn must not hang. What a rule, the
 * mode or somebody else has answered stays as it is.
 */
export async function answerRequest(
  host: Host,
  handlers: RequestHandlers,
  asked: Asked,
  context: RequestContext,
): Promise<{ readonly denied?: string }> {
  const { sessionId } = context
  const { requestId } = asked
  const isOpen = async () =>
    (await host.state(sessionId)).requests.some((request) => request.requestId === requestId)
  if (!(await isOpen())) return {}
  const command =
    asked.type === 'question.asked'
      ? await answered(handlers, asked, context)
      : await decided(handlers, asked, context)
  if (!command) return {}
  try {
    await host.command(sessionId, { ...command, commandId: crypto.randomUUID(), requestId })
  } catch (error) {
    if (await isOpen()) throw error
    return {}
  }
  return 'decision' in command && command.decision === 'deny'
    ? { denied: asked.type === 'permission.requested' ? asked.title : '' }
    : {}
}

async function decided(
  { onPermission = 'deny' }: RequestHandlers,
  asked: EventOf<'permission.requested'>,
  context: RequestContext,
) {
  const type = 'permission.decide' as const
  if (onPermission === 'wait') return undefined
  if (onPermission === 'deny') return { type, decision: 'deny' as const, message: nobody }
  try {
    const answer = await onPermission(asked, context)
    const { decision, scope, message } = typeof answer === 'string' ? { decision: answer } : answer
    // what is not an allowance, whatever it is, is none
    return {
      type,
      decision: decision === 'allow' ? decision : ('deny' as const),
      ...(scope !== undefined && { scope }),
      ...(message !== undefined && { message }),
    }
  } catch (thrown) {
    return { type, decision: 'deny' as const, message: messageOf(thrown) }
  }
}

async function answered(
  { onQuestion = 'decline' }: RequestHandlers,
  asked: EventOf<'question.asked'>,
  context: RequestContext,
) {
  const type = 'question.answer' as const
  if (onQuestion === 'wait') return undefined
  if (onQuestion !== 'decline') return { type, answers: await onQuestion(asked, context) }
  const { questions } = asked
  const closed = questions.find(({ freeText }) => !freeText)
  if (closed) {
    const message = `The agent asks "${closed.text}", and takes only its own options. Give onQuestion to createParley.`
    throw new ParleyError('not_supported', message, { details: { capability: 'questions', questions } })
  }
  return { type, answers: Object.fromEntries(questions.map(({ id }) => [id, declined])) }
}

const nobody = 'Nobody can be asked here, so it was denied. Go on without it, or say what it is needed for.'
const declined = 'Nobody can be asked here. Decide yourself, and say what you decided.'
