import {
  type Answers,
  defined,
  type EventOf,
  messageOf,
  ParleyError,
  type PermissionRequest,
  type PermissionScope,
  type QuestionRequest,
} from '@parley/protocol'
import type { Host } from '../../core/index.ts'

export type PermissionDecision = {
  readonly decision: 'allow' | 'deny'
  readonly scope?: PermissionScope
  /** The reason for a denial, shown to the agent. */
  readonly message?: string
}
export type RequestContext = {
  readonly sessionId: string
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal
}

/** The functions that answer requests of an agent during a response. */
export type RequestHandlers = {
  /**
   * `deny` is the default. `wait` leaves the answer to another client of the host. If a function throws, the permission
   * is denied.
   */
  readonly onPermission?:
    | 'deny'
    | 'wait'
    | ((
        request: PermissionRequest,
        context: RequestContext,
      ) => 'allow' | 'deny' | PermissionDecision | Promise<'allow' | 'deny' | PermissionDecision>)
  /**
   * `decline` is the default: the agent gets the answer that nobody can be asked. If a question accepts no
   * free text, the turn fails.
   */
  readonly onQuestion?:
    | 'decline'
    | 'wait'
    | ((request: QuestionRequest, context: RequestContext) => Answers | Promise<Answers>)
}

type Asked = EventOf<'permission.requested'> | EventOf<'question.asked'>

/**
 * Answers a request of a turn. Returns the title of a denied permission. Rejects if no answer is possible, so that
 * the turn does not hang. A request that a rule, the mode or another client has answered is not answered again.
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
    // Anything but `allow` is a denial.
    return defined({ type, decision: decision === 'allow' ? decision : ('deny' as const), scope, message })
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
    const message = `The agent asks "${closed.text}" and accepts only the options that it offers. Pass onQuestion to createParley to answer it.`
    throw new ParleyError('not_supported', message, { details: { capability: 'questions', questions } })
  }
  return { type, answers: Object.fromEntries(questions.map(({ id }) => [id, declined])) }
}

const nobody =
  'Nobody is available to give permission, so this was denied. Continue without it, or say why you need it.'
const declined = 'Nobody is available to answer. Decide yourself, and say what you decided.'
