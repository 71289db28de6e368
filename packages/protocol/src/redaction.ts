import type { EventOf, EventType, SessionEvent } from './event.ts'
import type { SetupRun } from './worktree.ts'

/** The text that replaces removed content. */
const placeholder = '[redacted]'

type Contents = { readonly [Type in EventType]?: (event: EventOf<Type>) => Record<string, unknown> }

/**
 * The content of each type of event, with its replacement; an undefined field is removed. The other fields are kept,
 * because later events refer to them. Events of other types cannot be redacted.
 */
const contents: Contents = {
  'session.renamed': () => ({ title: placeholder }),
  'agent.disconnected': () => ({ error: undefined, stderrTail: undefined }),
  'agent.noticed': () => ({ text: placeholder, data: undefined }),
  'agent.unrecognised': () => ({ native: null, reason: undefined }),
  'prompt.submitted': () => ({ parts: [{ type: 'text', text: placeholder }] }),
  'turn.ended': ({ error }) => ({
    result: undefined,
    structuredOutput: undefined,
    error: error && { code: error.code, message: placeholder },
  }),
  'text.written': () => ({ text: placeholder }),
  'thinking.written': () => ({ text: placeholder }),
  'tool-call.called': () => ({ title: placeholder, input: {}, locations: undefined }),
  'tool-call.updated': ({ title, input, content }) => ({
    title: title && placeholder,
    input: input && {},
    content: content && [],
    locations: undefined,
  }),
  'tool-call.ended': () => ({ content: [] }),
  // The hash of the input is removed too, because it would let anybody confirm a guess of the input.
  'permission.requested': ({ options }) => ({
    title: placeholder,
    input: {},
    inputHash: placeholder,
    reason: undefined,
    diffs: undefined,
    diff: undefined,
    options: options.map(({ decision, scope }) => ({ decision, scope, label: placeholder })),
  }),
  'permission.resolved': ({ input }) => ({ message: undefined, input: input === undefined ? undefined : {} }),
  'question.asked': ({ questions }) => ({
    questions: questions.map((one) => ({ ...one, header: placeholder, text: placeholder, options: [] })),
  }),
  'question.resolved': ({ answers }) => ({
    answers: answers && Object.fromEntries(Object.keys(answers).map((id) => [id, placeholder])),
  }),
  'plan.updated': () => ({ entries: [] }),
  'task.updated': () => ({ title: placeholder, summary: undefined }),
  'snapshot.taken': () => ({ leftOut: undefined }),
  'changes.discarded': () => ({ files: [], staged: undefined }),
  'changes.committed': () => ({ message: placeholder, output: undefined }),
  'branch.pushed': () => ({ url: undefined, output: undefined }),
  'branch.merged': ({ message }) => ({ message: message && placeholder, folder: undefined }),
  'pull-request.opened': () => ({ title: placeholder }),
  'check.ran': ({ error }) => ({ tail: '', error: error && { code: error.code, message: placeholder } }),
  'worktree.kept': () => ({ leftOut: undefined, error: undefined }),
  'worktree.filled': () => ({ submodules: [], output: undefined }),
  'worktree.made': () => ({ copied: undefined, leftOut: undefined }),
  'worktree.prepared': ({ setup }) => ({ setup: setup && withoutOutput(setup) }),
  'worktree.failed': ({ error, setup }) => ({
    error: { code: error.code, message: placeholder },
    setup: setup && withoutOutput(setup),
  }),
  'session.rewound': ({ files }) => ({ files: withoutPaths(files) }),
  'session.unrewound': ({ files }) => ({ files: withoutPaths(files) }),
  'restore.started': () => ({ left: undefined }),
  'restore.failed': ({ error }) => ({ error: { code: error.code, message: placeholder } }),
  'context.compacted': () => ({ summary: undefined }),
}

const withoutOutput = (setup: SetupRun): SetupRun => ({ ...setup, command: placeholder, tail: placeholder })

function withoutPaths<Files extends { left?: unknown }>(files: Files | undefined): Files | undefined {
  return files && { ...files, left: undefined }
}

/** The fields of an event without its content; undefined if events of this type cannot be redacted. */
export function redactedFields(event: SessionEvent): Record<string, unknown> | undefined {
  const replace = contents[event.type] as ((event: SessionEvent) => Record<string, unknown>) | undefined
  if (!replace) return undefined
  const { seq, at, sessionId, salt, turnId, type, actor, ...fields } = event
  const kept = Object.entries({ ...fields, ...replace(event) })
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined))
}

/** The event as the folds see it: a redacted event counts as the original one without its content. */
export function unredacted(event: SessionEvent): SessionEvent {
  if (event.type !== 'event.redacted') return event
  const { seq, at, sessionId, turnId, actor, was, kept } = event
  return {
    seq,
    at,
    sessionId,
    ...(turnId !== undefined && { turnId }),
    ...(actor && { actor }),
    type: was,
    ...kept,
  } as SessionEvent
}
