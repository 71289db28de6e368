import {
  applyDeltaToState,
  applyToState,
  type Delta,
  type DraftOf,
  deltaTypes,
  type EventDraft,
  emptyState,
  type SessionState,
} from '@parley/protocol'
import { numbered } from '../core/index.ts'

type Said = EventDraft | Delta

/** The session `ses_1` after these drafts were recorded and these deltas streamed. */
export function stateAfter(...said: readonly Said[]): SessionState {
  return andThen(emptyState('ses_1', 'epo_1'), ...said)
}

/**
 * The state `before` after further drafts and deltas. Each event is one millisecond after the previous one;
 * the first event of a session is at 101.
 */
export function andThen(before: SessionState, ...said: readonly Said[]): SessionState {
  return said.reduce((state: SessionState, one) => {
    if (deltaTypes.has(one.type)) return applyDeltaToState(state, one as Delta)
    const seq = state.seq + 1
    return applyToState(state, numbered(one as EventDraft, state.id, seq, 100 + seq))
  }, before)
}

/** The first event of most test sessions. */
export const created: DraftOf<'session.created'> = {
  type: 'session.created',
  agent: 'demo',
  cwd: '/somewhere',
  mode: 'ask',
}
export const connected: DraftOf<'agent.connected'> = {
  type: 'agent.connected',
  connectionId: 'con_1',
  agentSessionId: 'native-1',
}
export const submitted: DraftOf<'prompt.submitted'> = {
  type: 'prompt.submitted',
  promptId: 'prm_1',
  parts: [{ type: 'text', text: 'Tidy up' }],
  delivery: 'queue',
}
export const started: DraftOf<'turn.started'> = { type: 'turn.started', turnId: 'trn_1', promptId: 'prm_1' }
export const called: DraftOf<'tool-call.called'> = {
  type: 'tool-call.called',
  turnId: 'trn_1',
  toolCallId: 'call_1',
  name: 'Bash',
  kind: 'execute',
  title: 'ls',
  input: { command: 'ls' },
}
export const requested: DraftOf<'permission.requested'> = {
  type: 'permission.requested',
  turnId: 'trn_1',
  requestId: 'req_1',
  tool: 'Bash',
  kind: 'execute',
  title: 'ls',
  input: { command: 'ls' },
  inputHash: 'hash-1',
  readOnly: false,
  options: [
    { decision: 'allow', scope: 'once', label: 'Allow once' },
    { decision: 'deny', scope: 'once', label: 'Deny' },
  ],
}
export const asked: DraftOf<'question.asked'> = {
  type: 'question.asked',
  turnId: 'trn_1',
  requestId: 'req_2',
  questions: [
    {
      id: 'colour',
      header: 'Colour',
      text: 'Which?',
      options: [{ label: 'red' }, { label: 'blue' }],
      multiple: false,
      freeText: false,
    },
  ],
}
export const running: SessionState = stateAfter(created, connected, submitted, started)
