import { messageOf, ParleyError } from '@parley/protocol'
import type { AgentOutput } from '../../core/agent-adapter.ts'
import type { AgentProcess } from '../child-process.ts'

/** The last output of a connection, once the process has ended. */
export function farewell(
  isClosing: boolean,
  failure: unknown,
  words: ReturnType<AgentProcess['lastWords']>,
): AgentOutput {
  if (isClosing) return { type: 'agent.disconnected', reason: 'closed', ...words }
  const why = reasonOf(failure)
  const { stderrTail } = words
  const error = {
    code: 'agent_failed' as const,
    message: `${why}. The next prompt starts it again.`,
    ...(stderrTail !== undefined && { details: { stderrTail } }),
  }
  return { type: 'agent.disconnected', reason: 'crashed', error, ...words }
}

/** A TypeError comes from the SDK itself, which failed on a message such as a result without `errors`. */
function reasonOf(failure: unknown): string {
  if (failure instanceof TypeError)
    return 'Claude Code failed and did not say why: its last message could not be read'
  return failure instanceof Error ? failure.message : 'Claude Code ended without a result'
}

/** `isLost`: the conversation to resume no longer exists. */
export function cannotStart(
  error: unknown,
  isLost: boolean,
  { stderrTail }: ReturnType<AgentProcess['lastWords']>,
): ParleyError {
  const message = isLost
    ? 'Claude Code no longer has this conversation: its transcript is gone. Go on in a new session.'
    : `Claude Code could not be started: ${messageOf(error)}`
  return new ParleyError('agent_failed', message, {
    details: { ...(stderrTail !== undefined && { stderrTail }) },
    cause: error,
  })
}

export function notAsRoot(): ParleyError {
  const message =
    'Claude Code does not bypass permissions for root. Run Parley as another user or, in a sandbox, set IS_SANDBOX=1.'
  return new ParleyError('not_supported', message)
}
