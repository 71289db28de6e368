import {
  answersProblem,
  type CommandOf,
  defined,
  hostToolPrefix,
  type OpenRequest,
  ParleyError,
  type PermissionRule,
  projectOf,
  type SessionState,
} from '@parley/protocol'
import { type DecideContext, type Decision, need, refuseIf } from './decision.ts'
import { evaluate } from './permission-rules.ts'
import { pauseQueued } from './turn-transactions.ts'

/**
 * Throws if a rule or the mode refuses the call now because one of them changed after the request. No answer can
 * allow the call until they change again.
 */
function expectNotRefused(
  state: SessionState,
  request: Extract<OpenRequest, { type: 'permission' }>,
  { rules }: DecideContext,
): void {
  const isHost = request.tool.startsWith(hostToolPrefix)
  const subject = { ...request, ...(isHost && { host: { safe: false } }) }
  const verdict = evaluate(subject, state, rules)
  if (verdict.decision !== 'deny') return
  const { ruleId, by, message } = verdict
  const instead =
    ruleId !== undefined
      ? `Deny this, or revoke the rule first: in the settings, or with DELETE /api/rules/${ruleId}.`
      : by === 'mode'
        ? 'Deny this, or change the mode first.'
        : 'Deny this.'
  throw new ParleyError('forbidden', `${message} ${instead}`, { details: { ...(ruleId && { ruleId }) } })
}

export function decidePermission(
  state: SessionState,
  command: CommandOf<'permission.decide'>,
  context: DecideContext,
): Decision {
  const request = openRequest(state, command.requestId, 'permission')
  const { decision, scope, message, input, endTurn: end, inputHash } = command
  if (inputHash !== undefined && inputHash !== request.inputHash) {
    throw new ParleyError(
      'conflict',
      'The input of this request differs from the input that was decided. Read the request again.',
      {
        details: { requestId: request.requestId, inputHash: request.inputHash },
      },
    )
  }
  if (input !== undefined) {
    need(context, 'editInput')
    refuseIf(
      decision === 'deny',
      'validation_error',
      'An edited input is valid only with allow, not with deny.',
    )
    refuseIf(
      scope !== 'once',
      'validation_error',
      'An edited input can be allowed only with the scope "once".',
    )
  }
  refuseIf(
    end === true && decision === 'allow',
    'validation_error',
    'Only a denial can end the turn: endTurn is valid only with deny.',
  )
  if (decision === 'allow') {
    const asked = input === undefined ? request : { ...request, input }
    expectNotRefused(state, asked, context)
  }
  const rule = scope === 'once' ? undefined : grant(state, request, command, context)
  return {
    drafts: [
      {
        type: 'permission.resolved',
        ...(request.turnId && { turnId: request.turnId }),
        requestId: request.requestId,
        outcome: decision === 'allow' ? 'allowed' : 'denied',
        scope,
        by: 'person',
        ...defined({ message, input, endTurn: end }),
        ...signatureOf(command),
        ...(rule && { ruleId: rule.ruleId }),
      },
      ...(end === true ? pauseQueued(state) : []),
    ],
    ...(rule && { rules: [rule] }),
  }
}

/** The signature of the answer. The caller of the host has already checked it. */
function signatureOf({ signature, commandId }: CommandOf<'permission.decide' | 'question.answer'>) {
  return signature ? { signature: { ...signature, commandId } } : {}
}

function grant(
  state: SessionState,
  request: Extract<OpenRequest, { type: 'permission' }>,
  { decision, scope }: CommandOf<'permission.decide'>,
  context: DecideContext,
): PermissionRule {
  const pattern = request.options.find((option) => option.scope === scope && option.rule)?.rule
  if (!pattern || scope === 'once') {
    throw new ParleyError('validation_error', `This request cannot be decided for the scope "${scope}".`, {
      details: { scopes: [...new Set(request.options.map((option) => option.scope))] },
    })
  }
  const { any: _, outside: __, protected: ___, ...refused } = pattern
  return {
    ...(decision === 'allow' ? pattern : refused),
    ruleId: context.ids('rule'),
    decision,
    scope,
    ...(scope === 'session' && { sessionId: state.id }),
    ...(scope === 'project' && { project: projectOf(state), ...defined({ place: context.place }) }),
    agent: state.agent,
    createdAt: context.now,
    ...defined({ createdBy: context.actor }),
  }
}

export function answerQuestion(state: SessionState, command: CommandOf<'question.answer'>): Decision {
  const { requestId, answers } = command
  const request = openRequest(state, requestId, 'question')
  const problem = answersProblem(request.questions, answers)
  refuseIf(problem !== undefined, 'validation_error', `The answers are not valid: ${problem}.`)
  return {
    drafts: [
      {
        type: 'question.resolved',
        ...(request.turnId && { turnId: request.turnId }),
        requestId,
        outcome: 'answered',
        answers,
        by: 'person',
        ...signatureOf(command),
      },
    ],
  }
}

function openRequest<Type extends OpenRequest['type']>(
  state: SessionState,
  requestId: string,
  type: Type,
): Extract<OpenRequest, { type: Type }> {
  const request = state.requests.find((open) => open.requestId === requestId)
  if (request?.type === type) return request as Extract<OpenRequest, { type: Type }>
  if (request) {
    const answer = request.type === 'permission' ? 'permission.decide' : 'question.answer'
    const message = `That request is a ${request.type}; answer it with ${answer}.`
    throw new ParleyError('validation_error', message)
  }
  const settled = state.settled.find((one) => one.requestId === requestId)
  if (settled) {
    throw new ParleyError('conflict', `That request is already resolved: ${settled.outcome}.`, {
      details: { requestId, outcome: settled.outcome },
    })
  }
  throw new ParleyError(
    'not_found',
    'There is no such request in this session. List the open requests to see their ids.',
    {
      details: { requestId },
    },
  )
}
