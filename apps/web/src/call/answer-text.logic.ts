import type { NewCommand } from '@parley/client'
import type { BlockOf, OpenRequest, PermissionResolution, QuestionResolution } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'
import { commandRun } from './call-text.logic.ts'

export type AnswerCommand = Extract<NewCommand, { type: 'permission.decide' | 'question.answer' }>

const scopes = { once: 'Allow once', session: 'Allow for this session', project: 'Allow in this project' }

const maxLength = 200

/** A text of an agent or a person, cut to a length that can be stored, with hidden characters made visible. */
function shortened(text: string): string {
  return visible(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)
}

/**
 * An unsent answer as text: the answers to a question, or the label of the pressed button and the reason, if one was
 * given.
 */
export function shownAnswer(request: OpenRequest, answer: AnswerCommand): string {
  if (answer.type === 'question.answer') return shortened(Object.values(answer.answers).flat().join(', '))
  const isPlan = request.type === 'permission' && request.kind === 'plan'
  if (answer.decision === 'deny') {
    const no = isPlan ? 'Request changes' : 'Deny'
    return answer.message ? `${no}: ${shortened(answer.message)}` : no
  }
  if (isPlan) return 'Approve the plan'
  if (answer.input !== undefined) return 'Allow as edited'
  const { scope = 'once' } = answer
  return scope === 'always' ? 'Allow always' : scopes[scope]
}

export function requestText(request: OpenRequest): string {
  if (request.type === 'permission') return shortened(request.title)
  return shortened(request.questions[0]?.text ?? 'A question')
}

/** The outcome of a request that was answered in another client or never answered. */
export function settledText(outcome: unknown): string {
  const texts: Record<string, string> = {
    allowed: 'it was allowed elsewhere',
    denied: 'it was denied elsewhere',
    answered: 'it was answered elsewhere',
    cancelled: 'the turn stopped first',
    expired: 'it expired',
  }
  return texts[String(outcome)] ?? 'the request is no longer open'
}

const allowedFor = { once: 'once', session: 'for this session', project: 'in this project', always: 'always' }

/** `answerer`: the person who answered, as text. */
export function outcomeText(
  block: BlockOf<'permission'>,
  resolution: PermissionResolution,
  answerer = 'you',
): string {
  const { outcome, scope, by, message, input, carriedFrom } = resolution
  if (outcome === 'cancelled') return 'Not answered: the turn stopped'
  if (outcome === 'expired') return 'Expired without an answer'
  const whose = {
    person: carriedFrom === undefined ? `by ${answerer}` : `by ${answerer}, with an earlier answer`,
    rule: 'by a rule',
    mode: 'by the mode',
    timeout: 'by timeout',
    'turn-end': '',
    'task-end': '',
  }[by]
  const isPlan = block.request.kind === 'plan'
  const reason = message ? `: ${visible(message)}` : ''
  if (outcome === 'denied') return `${isPlan ? 'Not approved' : 'Denied'} ${whose}${reason}`
  if (isPlan) return `Approved ${whose}`
  const command = commandRun(block)
  const changes = `, with changes${command === undefined ? '' : `: ${shortened(command)}`}`
  return `Allowed ${allowedFor[scope ?? 'once']} ${whose}${input === undefined ? '' : changes}`
}

export function questionNote(
  { outcome, carriedFrom }: QuestionResolution,
  answerer = 'you',
): string | undefined {
  if (outcome !== 'answered') return 'Not answered'
  const who = answerer === 'you' ? undefined : `Answered by ${answerer}`
  if (carriedFrom === undefined) return who
  return `Asked again, and answered as before${answerer === 'you' ? '' : ` by ${answerer}`}`
}
