import type { DraftOf, EventDraft, EventType, SessionEvent } from '../src/event.ts'
import { emptyView, type SessionView } from '../src/session-view.ts'

/** One draft of every type, with the fields that readers use. A missing type is a compile error. */
export const samples: { readonly [Type in EventType]: DraftOf<Type> } = {
  'session.created': { type: 'session.created', agent: 'demo', cwd: '/somewhere', mode: 'ask' },
  'session.configured': { type: 'session.configured', requested: { model: 'large' } },
  'session.renamed': { type: 'session.renamed', title: 'Tidy up', by: 'person' },
  'session.archived': { type: 'session.archived' },
  'session.unarchived': { type: 'session.unarchived' },
  'session.pinned': { type: 'session.pinned' },
  'session.unpinned': { type: 'session.unpinned' },
  'session.forked': { type: 'session.forked', into: 'ses_2', atSeq: 1 },
  'session.handed-over': { type: 'session.handed-over', into: 'ses_2', agent: 'demo' },
  'session.rewound': {
    type: 'session.rewound',
    promptId: 'prm_1',
    from: 2,
    talk: true,
    forkPoint: { agentSessionId: 'native-1', before: ['prm_1'] },
  },
  'restore.started': {
    type: 'restore.started',
    rewind: { promptId: 'prm_1', from: 2 },
    before: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
    to: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
    left: { count: 1, paths: [{ path: 'notes.txt', reason: 'changed-since' }] },
  },
  'restore.failed': {
    type: 'restore.failed',
    started: 6,
    error: { code: 'conflict', message: 'A file has changed meanwhile.' },
  },
  'session.unrewound': { type: 'session.unrewound', rewound: 6 },
  'session.released': { type: 'session.released' },
  'agent.connected': { type: 'agent.connected', connectionId: 'con_1', agentSessionId: 'native-1' },
  'agent.disconnected': { type: 'agent.disconnected', reason: 'idle' },
  'agent.noticed': { type: 'agent.noticed', level: 'warning', code: 'retry', text: 'Trying again.' },
  'agent.unrecognised': { type: 'agent.unrecognised', native: { type: 'new-thing' } },
  'prompt.submitted': {
    type: 'prompt.submitted',
    promptId: 'prm_1',
    parts: [{ type: 'text', text: 'Tidy up' }],
    delivery: 'queue',
  },
  'prompt.queued': { type: 'prompt.queued', promptId: 'prm_1' },
  'queue.paused': { type: 'queue.paused', by: 'person' },
  'queue.resumed': { type: 'queue.resumed' },
  'prompt.withdrawn': { type: 'prompt.withdrawn', promptId: 'prm_1' },
  'prompt.taken': { type: 'prompt.taken', promptId: 'prm_1' },
  'prompt.moved': { type: 'prompt.moved', promptId: 'prm_2', before: 'prm_1' },
  'turn.started': { type: 'turn.started', turnId: 'trn_1', promptId: 'prm_1' },
  'turn.interrupted': { type: 'turn.interrupted', turnId: 'trn_1', by: 'person' },
  'turn.parked': { type: 'turn.parked', turnId: 'trn_1', reason: 'server-stopped' },
  'turn.resumed': { type: 'turn.resumed', turnId: 'trn_1' },
  'turn.ended': {
    type: 'turn.ended',
    turnId: 'trn_1',
    outcome: 'completed',
    stopReason: 'end_turn',
    durationMs: 5,
  },
  'text.written': { type: 'text.written', turnId: 'trn_1', blockId: 'blk_1', text: 'Done.' },
  'thinking.written': { type: 'thinking.written', turnId: 'trn_1', blockId: 'blk_2', text: 'Hm.' },
  'block.retracted': { type: 'block.retracted', turnId: 'trn_1', blockId: 'blk_1' },
  'tool-call.called': {
    type: 'tool-call.called',
    turnId: 'trn_1',
    toolCallId: 'call_1',
    name: 'Bash',
    kind: 'execute',
    title: 'ls',
    input: { command: 'ls' },
  },
  'tool-call.updated': {
    type: 'tool-call.updated',
    turnId: 'trn_1',
    toolCallId: 'call_1',
    title: 'ls in /somewhere',
  },
  'tool-call.ended': {
    type: 'tool-call.ended',
    turnId: 'trn_1',
    toolCallId: 'call_1',
    outcome: 'completed',
    content: [{ type: 'text', text: 'a.txt' }],
  },
  'permission.requested': {
    type: 'permission.requested',
    turnId: 'trn_1',
    requestId: 'req_1',
    toolCallId: 'call_1',
    tool: 'Bash',
    kind: 'execute',
    title: 'ls',
    input: { command: 'ls' },
    inputHash: 'hash-1',
    readOnly: false,
    options: [{ decision: 'allow', scope: 'once', label: 'Allow once' }],
  },
  'permission.resolved': {
    type: 'permission.resolved',
    turnId: 'trn_1',
    requestId: 'req_1',
    outcome: 'allowed',
    by: 'person',
  },
  'question.asked': {
    type: 'question.asked',
    turnId: 'trn_1',
    requestId: 'req_2',
    questions: [
      {
        id: 'colour',
        header: 'Colour',
        text: 'Which?',
        options: [{ label: 'red' }],
        multiple: false,
        freeText: false,
      },
    ],
  },
  'question.resolved': {
    type: 'question.resolved',
    turnId: 'trn_1',
    requestId: 'req_2',
    outcome: 'answered',
    answers: { colour: 'red' },
    by: 'person',
  },
  'plan.updated': { type: 'plan.updated', turnId: 'trn_1', entries: [{ text: 'one', status: 'pending' }] },
  'task.updated': {
    type: 'task.updated',
    turnId: 'trn_1',
    taskId: 'task_1',
    title: 'helper',
    status: 'running',
  },
  'usage.measured': {
    type: 'usage.measured',
    turnId: 'trn_1',
    context: { used: 10, window: 100 },
    total: { input: 5, output: 7 },
  },
  'snapshot.taken': {
    type: 'snapshot.taken',
    turnId: 'trn_1',
    when: 'before',
    tree: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
    head: '4b825dc642cb6eb9a060e54bf8d69288fbee4905',
    leftOut: [{ path: 'film.mp4', reason: 'large' }],
  },
  'changes.discarded': {
    type: 'changes.discarded',
    files: [{ path: 'a.txt', hunks: 1 }],
    base: '4b825dc642cb6eb9a060e54bf8d69288fbee4905',
    before: '4b825dc642cb6eb9a060e54bf8d69288fbee4906',
    after: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  },
  'changes.restored': { type: 'changes.restored', discarded: 1 },
  'changes.committed': {
    type: 'changes.committed',
    commit: '4b825dc642cb6eb9a060e54bf8d69288fbee4905',
    branch: 'fix',
    message: 'Fix the parser',
    files: 1,
  },
  'branch.pushed': {
    type: 'branch.pushed',
    branch: 'fix',
    remote: 'origin',
    commit: '4b825dc642cb6eb9a060e54bf8d69288fbee4905',
  },
  'branch.merged': {
    type: 'branch.merged',
    branch: 'fix',
    merged: '4b825dc642cb6eb9a060e54bf8d69288fbee4905',
    into: 'main',
    before: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
    commit: '4b825dc642cb6eb9a060e54bf8d69288fbee4906',
    way: 'merge',
    commits: 2,
    files: 3,
    message: "Merge branch 'fix'",
    folder: '/tmp/app',
  },
  'pull-request.opened': {
    type: 'pull-request.opened',
    url: 'https://example.com/pulls/1',
    number: 1,
    title: 'Fix the parser',
    branch: 'fix',
    base: 'main',
  },
  'worktree.requested': { type: 'worktree.requested', action: 'remove', branch: 'keep' },
  'worktree.made': { type: 'worktree.made', copied: ['.env'] },
  'worktree.prepared': {
    type: 'worktree.prepared',
    setup: { command: 'npm ci', exitCode: 0, durationMs: 900, tail: 'added 3 packages\n' },
  },
  'worktree.failed': {
    type: 'worktree.failed',
    action: 'make',
    error: { code: 'conflict', message: 'The disk is full.' },
  },
  'worktree.removed': { type: 'worktree.removed', branch: 'kept', head: 'head', tree: 'tree' },
  'log.sealed': {
    type: 'log.sealed',
    from: 1,
    to: 2,
    prev: '',
    hash: 'hash',
    keyId: 'key',
    signature: 'signature',
    seed: 'seed',
  },
  'event.redacted': {
    type: 'event.redacted',
    was: 'text.written',
    kept: { blockId: 'b', text: '[redacted]' },
    leaf: 'leaf',
    reason: 'a secret',
    redactedAt: 1,
    keyId: 'key',
    signature: 'signature',
  },
  'context.compacted': { type: 'context.compacted', turnId: 'trn_1', trigger: 'auto' },
}

/** The sample of a type, with some fields changed. */
export function sample<Type extends EventType>(
  type: Type,
  changes: Partial<DraftOf<Type>> = {},
): DraftOf<Type> {
  return { ...samples[type], ...changes }
}

/** The draft as an event. `at` is ten times `seq`, so that a test can distinguish the two. */
export function numbered(draft: EventDraft, seq: number): SessionEvent {
  return { seq, at: seq * 10, sessionId: 'ses_1', ...draft } as SessionEvent
}

export function logOf(drafts: readonly EventDraft[], from = 1): SessionEvent[] {
  return drafts.map((draft, index) => numbered(draft, from + index))
}

export const blankView: SessionView = emptyView('ses_1', 'epo_1')
