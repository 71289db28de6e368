import { createHash } from 'node:crypto'
import type { AssistantMessage, Event, Part, UserMessage } from '@opencode-ai/sdk/v2/client'
import { isRecord } from '@parley/protocol'

/**
 * The parts of OpenCode's classic endpoints that Parley uses, and the parts that it does not use, with the reason. The
 * types are not validated: a message of the program may have more fields, fewer fields, or unknown types.
 */
export type NativeType = Event['type']
export type NativeProperties<Type extends NativeType> = Extract<Event, { type: Type }>['properties']
export type NativePartType = Part['type']

export type NativeMessage = UserMessage | AssistantMessage
export type NativeError = NonNullable<AssistantMessage['error']>

const newApi = 'part of the future session API, which we do not call; classic sessions send no such event'
const screen = 'for the screen of the terminal program, which is not shown here'
const machinery = 'internals of the server, not part of a conversation'
const catalogue = 'lists of models and integrations, which are read when they are needed'

/** Events that intentionally produce no output. */
export const ignored = {
  // catalogues
  'models-dev.refreshed': catalogue,
  'integration.updated': catalogue,
  'integration.connection.updated': catalogue,
  'catalog.updated': catalogue,
  'reference.updated': catalogue,

  // reported by other events
  'session.diff': 'each tool call contains its own diff',
  'file.edited': 'the tool call that edited the file reports it',
  'file.watcher.updated':
    'a file of the folder changed: outside this conversation, or by a tool call that reports it',
  'command.executed': 'the turn of the command shows its effects',
  'permission.v2.asked': newApi,
  'permission.v2.replied': newApi,
  'question.v2.asked': newApi,
  'question.v2.replied': newApi,
  'question.v2.rejected': newApi,

  // internals
  'plugin.added': machinery,
  'project.directories.updated': machinery,
  'project.updated': machinery,
  'pty.created': 'a terminal that a person opened outside the conversation',
  'pty.updated': 'a terminal that a person opened outside the conversation',
  'pty.exited': 'a terminal that a person opened outside the conversation',
  'pty.deleted': 'a terminal that a person opened outside the conversation',
  'lsp.updated': machinery,
  'mcp.tools.changed': 'the new tools are offered to the model with the next step',
  'installation.updated': 'Parley reports the running version when it connects',
  'installation.update-available': 'the person, or Parley, decides which version to install',
  'vcs.branch.updated': machinery,
  'workspace.ready': machinery,
  'workspace.status': machinery,
  'worktree.ready': machinery,
  'server.connected': 'the event stream has started; the connection handles that',
  'tui.prompt.append': screen,
  'tui.command.execute': screen,
  'tui.session.select': screen,

  // the future session API
  'session.next.agent.switched': newApi,
  'session.next.model.switched': newApi,
  'session.next.moved': newApi,
  'session.next.prompted': newApi,
  'session.next.prompt.admitted': newApi,
  'session.next.context.updated': newApi,
  'session.next.synthetic': newApi,
  'session.next.shell.started': newApi,
  'session.next.shell.ended': newApi,
  'session.next.step.started': newApi,
  'session.next.step.ended': newApi,
  'session.next.step.failed': newApi,
  'session.next.text.started': newApi,
  'session.next.text.delta': newApi,
  'session.next.text.ended': newApi,
  'session.next.reasoning.started': newApi,
  'session.next.reasoning.delta': newApi,
  'session.next.reasoning.ended': newApi,
  'session.next.tool.input.started': newApi,
  'session.next.tool.input.delta': newApi,
  'session.next.tool.input.ended': newApi,
  'session.next.tool.called': newApi,
  'session.next.tool.progress': newApi,
  'session.next.tool.success': newApi,
  'session.next.tool.failed': newApi,
  'session.next.retried': newApi,
  'session.next.compaction.started': newApi,
  'session.next.compaction.delta': newApi,
  'session.next.compaction.ended': newApi,
  'session.next.revert.staged': newApi,
  'session.next.revert.cleared': newApi,
  'session.next.revert.committed': newApi,
} as const satisfies Partial<Record<NativeType, string>>

/** Events that arrive although the SDK's union lacks them. */
export const ignoredFrames = {
  'server.heartbeat': 'a heartbeat without content',
} as const

/** Parts that intentionally produce no output. */
export const ignoredParts = {
  snapshot: 'a state of the folder that OpenCode keeps for itself',
  patch: 'the files that a step changed; each tool call reports its own',
  agent: 'part of a prompt: a subagent that it names',
  subtask: 'part of a prompt: the subagent that a command starts; its call comes as a tool part',
  retry: 'session.status reports each retry',
} as const satisfies Partial<Record<NativePartType, string>>

/** The metadata fields of a tool's state that we read, by tool. Every field may be missing. */
export type NativeMetadata = {
  // bash
  readonly output?: string
  readonly exit?: number | null
  // edit, write, apply_patch
  readonly diff?: string
  readonly filepath?: string
  readonly exists?: boolean
  readonly filediff?: { readonly file?: string; readonly patch?: string }
  readonly files?: readonly NativeChangedFile[]
  // task
  readonly sessionId?: string
  // a call that was interrupted
  readonly interrupted?: boolean
}

export type NativeChangedFile = {
  readonly filePath?: string
  readonly movePath?: string
  readonly patch?: string
  readonly type?: string
}

/** Makes a call of the SDK reject on an error response. */
export const thrown = { throwOnError: true } as const

/**
 * The id under which a prompt is sent to an OpenCode session. It depends only on these two ids, so that the prompt can
 * be found after a restart. It differs between sessions, since OpenCode stores all messages in one place.
 */
export function messageIdOf(sessionID: string, promptId: string): string {
  const hash = createHash('sha256').update(`${sessionID} ${promptId}`)
  return `msg_${hash.digest('hex').slice(0, 26)}`
}

/** The message of an error, thrown or returned by OpenCode. */
export function errorText(error: unknown): string {
  if (error instanceof Error) return error.message
  if (!isRecord(error)) return String(error)
  const { message } = isRecord(error.data) ? error.data : error
  return typeof message === 'string' ? message : JSON.stringify(error)
}
