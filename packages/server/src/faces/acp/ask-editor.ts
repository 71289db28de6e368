import {
  type PermissionOption as NativeOption,
  RequestError,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk/unstable'
import {
  type Answers,
  hasCode,
  newId,
  type OpenRequest,
  type PermissionOption,
  type Question,
} from '@parley/protocol'
import type { Access } from './access.ts'
import type { Editor } from './editor.ts'
import { answersIn, formOf } from './question-form.ts'
import { callInQuestion } from './tool-call-updates.ts'

type Request<Type extends OpenRequest['type']> = Extract<OpenRequest, { type: Type }>

export type AskContext = {
  readonly access: Access
  readonly editor: Editor
  readonly sessionId: string
  readonly cwd: string
  readonly agentName: string
  /** Whether a pending prompt of this editor started the turn. */
  isOwnTurn(turnId: string | undefined): boolean
  /** Shows the reason why the editor cannot be asked, and where the person can answer. */
  cannotAsk(why: string): Promise<void>
}

/** The number of times that a form is sent before the request is given up, if the answers remain incomplete. */
const maxForms = 3

/**
 * Shows an open request to the person at the editor and records the answer. The signal withdraws the request when it
 * was answered elsewhere or its turn ended. Only the first answer counts.
 */
export async function askEditor(
  context: AskContext,
  request: OpenRequest,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (request.type === 'permission') await askPermission(context, request, signal)
    else await askQuestions(context, request, signal)
  } catch (thrown) {
    // The request was answered elsewhere, or is no longer open.
    if (signal.aborted || hasCode(thrown, 'conflict', 'not_found')) return
    // A rule forbids the call that the person allowed.
    if (hasCode(thrown, 'forbidden')) return context.cannotAsk(thrown.message)
    if (!(thrown instanceof RequestError)) throw thrown
    await context.cannotAsk(`This editor rejected the question (${thrown.message}).`)
  }
}

async function askPermission(
  context: AskContext,
  request: Request<'permission'>,
  signal: AbortSignal,
): Promise<void> {
  const { access, editor, sessionId, cwd } = context
  const options = request.options.map((option, index) => ({ option, native: nativeOption(option, index) }))
  const response = await editor.permission(
    {
      sessionId,
      toolCall: callInQuestion(request, cwd),
      options: options.map(({ native }) => native),
    },
    signal,
  )
  const optionId = chosenIn(response)
  if (optionId === undefined) return cancelTurn(context, request)
  const chosen = options.find(({ native }) => native.optionId === optionId)
  if (!chosen) return context.cannotAsk(`This editor answered with an option that was not offered.`)
  const { decision, scope } = chosen.option
  await access.command(sessionId, {
    type: 'permission.decide',
    commandId: newId('cmd'),
    requestId: request.requestId,
    decision,
    scope,
  })
}

/**
 * An option of a permission in ACP's form. ACP has only `once` and `always`; the label says how long `always`
 * lasts.
 */
function nativeOption({ decision, scope, label }: PermissionOption, index: number): NativeOption {
  const verdict = decision === 'allow' ? 'allow' : 'reject'
  const kind = `${verdict}_${scope === 'once' ? 'once' : 'always'}` as const
  return { optionId: `${decision}-${scope}-${index}`, name: label, kind }
}

function chosenIn({ outcome }: RequestPermissionResponse): string | undefined {
  return outcome.outcome === 'selected' && 'optionId' in outcome ? String(outcome.optionId) : undefined
}

/**
 * Cancels the turn if this editor started it, because that is the meaning of the outcome `cancelled` in ACP. For
 * other turns, the request remains open for other clients.
 */
async function cancelTurn(context: AskContext, { turnId }: OpenRequest): Promise<void> {
  const { access, sessionId, isOwnTurn } = context
  if (!isOwnTurn(turnId)) return
  await access.command(sessionId, { type: 'turn.cancel', commandId: newId('cmd'), ...(turnId && { turnId }) })
}

async function askQuestions(
  context: AskContext,
  request: Request<'question'>,
  signal: AbortSignal,
): Promise<void> {
  const { questions, requestId } = request
  const asked = context.editor.knows.forms ? askForm : askOneByOne
  const said = await asked(context, request, signal)
  if (said === 'not-possible') return
  const answers = said === 'declined' ? refusalOf(questions) : said
  if (answers === undefined || answers === 'cancelled') return cancelTurn(context, request)
  await context.access.command(context.sessionId, {
    type: 'question.answer',
    commandId: newId('cmd'),
    requestId,
    answers,
  })
}

/**
 * The answers that refuse the questions. A refusal is sent as free text, so the result is undefined if a question
 * accepts no free text. The turn is then cancelled instead.
 */
function refusalOf(questions: readonly Question[]): Answers | undefined {
  if (!questions.every(({ freeText }) => freeText)) return undefined
  return Object.fromEntries(questions.map(({ id }) => [id, 'I would rather not answer this.']))
}

type Said = Answers | 'declined' | 'cancelled' | 'not-possible'

async function askForm(
  context: AskContext,
  { questions, toolCallId }: Request<'question'>,
  signal: AbortSignal,
): Promise<Said> {
  const { editor, sessionId, agentName } = context
  let message = `${agentName} asks:`
  for (let forms = 0; forms < maxForms; forms++) {
    const response = await editor.form(
      {
        mode: 'form',
        sessionId,
        message,
        requestedSchema: formOf(questions),
        ...(toolCallId && { toolCallId }),
      },
      signal,
    )
    if (response.action === 'decline') return 'declined'
    if (response.action !== 'accept') return 'cancelled'
    const content = 'content' in response ? response.content : undefined
    const given = answersIn(questions, (content ?? {}) as Record<string, unknown>)
    if ('answers' in given) return given.answers
    message = `${agentName} asks (${given.problem}):`
  }
  await context.cannotAsk('The form was returned without an answer.')
  return 'not-possible'
}

/** For editors without forms: shows each single-choice question as a permission request. */
async function askOneByOne(
  context: AskContext,
  request: Request<'question'>,
  signal: AbortSignal,
): Promise<Said> {
  const { questions } = request
  if (questions.some(({ multiple, options }) => multiple || options.length === 0)) {
    const words = questions.map(({ text }) => text).join(' ')
    await context.cannotAsk(
      `${context.agentName} asks: ${words} This editor does not support forms, so this question cannot be answered here.`,
    )
    return 'not-possible'
  }
  const answers: Answers = {}
  for (const [index, question] of questions.entries()) {
    const toolCallId = request.toolCallId ?? `${request.requestId}-${index}`
    const choice = await askChoice(context, { question, toolCallId }, signal)
    if (typeof choice === 'string') return choice
    answers[question.id] = choice.label
  }
  return answers
}

async function askChoice(
  { editor, sessionId }: AskContext,
  { question, toolCallId }: { question: Question; toolCallId: string },
  signal: AbortSignal,
): Promise<{ label: string } | 'declined' | 'cancelled'> {
  const { text, options } = question
  const choices = options.map(({ label, description }, at) => ({
    optionId: `option-${at}`,
    name: description ? `${label}: ${description}` : label,
    kind: 'allow_once' as const,
  }))
  const response = await editor.permission(
    {
      sessionId,
      toolCall: { toolCallId, title: text, kind: 'other', status: 'pending' },
      options: [...choices, { optionId: 'no-answer', name: 'Do not answer', kind: 'reject_once' }],
    },
    signal,
  )
  const optionId = chosenIn(response)
  if (optionId === undefined) return 'cancelled'
  const label = options[choices.findIndex((choice) => choice.optionId === optionId)]?.label
  return label === undefined ? 'declined' : { label }
}
