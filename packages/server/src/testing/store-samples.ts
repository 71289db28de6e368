import {
  emptyState,
  type OpenBlock,
  type OpenRequest,
  type OpenTurn,
  type PermissionRule,
  type SessionState,
} from '@parley/protocol'
import type { StoredEvent, StoredReceipt } from '../core/session-store.ts'

export const openTurn = {
  turnId: 't1',
  startedAt: 1,
  prompt: { promptId: 'p1', parts: [{ type: 'text', text: 'hi' }], delivery: 'queue', at: 1 },
  interrupted: false,
  delivered: true,
  carried: [],
} satisfies OpenTurn

export function stateOf(id: string, changes: Partial<SessionState> = {}): SessionState {
  return { ...emptyState(id, `epoch of ${id}`), ...changes }
}

/** Events as the log writes them. */
export function eventsOf(sessionId: string, from: number, count: number): StoredEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const seq = from + index
    return {
      seq,
      json: JSON.stringify({ seq, at: 1000 + seq, sessionId, type: 'agent.noticed', text: `n ${seq}` }),
    }
  })
}

export function textBlock(id: string, text: string): OpenBlock {
  return { type: 'text', id, turnId: 't1', text }
}

export function callBlock(id: string, input: string, output: string): OpenBlock {
  return { type: 'tool-call', id, turnId: 't1', name: 'Bash', kind: 'execute', called: true, input, output }
}

export function receiptOf(commandId: string, seq: number): StoredReceipt {
  return { commandId, hash: `hash of ${commandId}`, receipt: { commandId, seq, promptId: 'p1' } }
}

export function ruleOf(ruleId: string, changes: Partial<PermissionRule> = {}): PermissionRule {
  return { ruleId, tool: 'Bash', decision: 'allow', scope: 'always', createdAt: 1, ...changes }
}

/** Event texts that a store might change by mistake. Some are not JSON, because a store must not parse them. */
export function awkwardTexts(sessionId: string): string[] {
  const id = JSON.stringify(sessionId)
  return [
    `{"seq":1,"at":5,"sessionId":${id},"type":"x"}`,
    `{"seq":2,"at":5,"sessionId":${id}}`,
    `{"seq":99,"at":5,"sessionId":${id},"type":"of another seq"}`,
    `{"seq":4,"at":5,"sessionId":"other","type":"of another session"}`,
    `{"seq":5,"at":=,"sessionId":${id},"x":1}`,
    `{"seq":6,"at":,"sessionId":${id},"x":1}`,
    `{"seq":7,"at":~1,"sessionId":${id},"x":1}`,
    `{"seq":8,"at":1.5e3,"sessionId":${id},"x":1}`,
    `{"seq":9,"at":-1,"sessionId":${id},"x":1}`,
    `{"seq":10,"at":1,"x":1,"sessionId":${id},"y":1}`,
    `{"seq":11,"at":1 ,"sessionId":${id},"sessionId":${id},}`,
    `{"seq":12,"at":1}`,
    `{ "seq": 13, "at": 1, "sessionId": ${id}, "x": 1 }`,
    '{"seq":14,"at":',
    '{"seq":15,"at":1',
    `1,"sessionId":${id},`,
    '',
    '=',
    '~',
    '="x"',
    '~"x"',
    '5,"type":"x"}',
    'null',
    ' \n\t\r\n',
    `{"seq":25,"at":5,"sessionId":${id},"text":"\\u0000 \\ud800 \\" \\\\ é 漢字 \u{1f680} \u2028"}`,
    `{"seq":26,"at":5,"sessionId":${id},"text":"\u0000 and more"}`,
    `{"seq":27,"at":5,"sessionId":${id},"text":"\ud800 alone"}`,
    `\udc00{"seq":28`,
    '\ufeff{"seq":29}',
    `{"seq":30,"at":5,"sessionId":${id},"text":"${'long '.repeat(20_000)}"}`,
  ]
}

export function requestOf(requestId: string, at: number): OpenRequest {
  const question = { id: 'q', header: 'H', text: 'T?', options: [], multiple: false, freeText: true }
  return { type: 'question', at, stale: false, requestId, questions: [question] }
}
