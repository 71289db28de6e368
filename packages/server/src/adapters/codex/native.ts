import type { JsonRpcId } from '@parley/adapter-kit/json-rpc'

/**
 * The parts of the app-server protocol that Parley uses, and the parts that it does not use, with the reason. Taken
 * from `codex app-server generate-ts --experimental` of 0.166.0; a test compares the names. A message of the program
 * may have more fields, fewer fields, or an unknown method.
 */

export type NativeNotification = { readonly method: string; readonly params: unknown }
export type NativeRequest = NativeNotification & { readonly id: JsonRpcId }
export type NativeMessage = NativeNotification | NativeRequest
/** The method name under which text that is not a message of the protocol is passed on. */
export const unintelligible = '(unintelligible)'

// threads and turns
/** The response to `thread/start`, `thread/resume` and `thread/fork`. */
export type NativeThreadOpened = {
  /** `sessionId` is the id of the root conversation of a subagent, or of the thread itself. */
  readonly thread: { readonly id: string; readonly sessionId?: string }
  readonly model: string
  readonly approvalPolicy: NativeApprovalPolicy
  readonly sandbox: NativeSandboxPolicy
  readonly reasoningEffort?: string | null
  readonly collaborationMode?: NativeCollaborationMode | null
}
export type NativeThreadSettings = { readonly model: string; readonly effort: string | null }
export type NativeApprovalPolicy = 'untrusted' | 'on-request' | 'never' | { readonly granular: unknown }
export type NativeSandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access'
export type NativeSandboxPolicy =
  | { readonly type: 'dangerFullAccess' }
  | { readonly type: 'readOnly'; readonly networkAccess: boolean }
  | { readonly type: 'externalSandbox'; readonly networkAccess: unknown }
  | {
      readonly type: 'workspaceWrite'
      readonly writableRoots: readonly string[]
      readonly networkAccess: boolean
      readonly excludeTmpdirEnvVar: boolean
      readonly excludeSlashTmp: boolean
    }
export type NativeCollaborationMode = {
  readonly mode: 'plan' | 'default'
  readonly settings: {
    readonly model: string
    readonly reasoning_effort: string | null
    readonly developer_instructions: string | null
  }
}
export type NativeTurn = {
  readonly id: string
  readonly status: 'inProgress' | 'completed' | 'interrupted' | 'failed'
  readonly error?: NativeTurnError | null
}
export type NativeTurnError = {
  readonly message: string
  readonly codexErrorInfo?: NativeErrorInfo | null
  readonly additionalDetails?: string | null
}
/** A name, or a name with the status of an HTTP response. */
export type NativeErrorInfo =
  | string
  | Readonly<Record<string, { readonly httpStatusCode?: number | null } | undefined>>

export type NativeTokens = {
  readonly totalTokens: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteInputTokens?: number
  readonly outputTokens: number
  readonly reasoningOutputTokens: number
}
export type NativeTokenUsage = {
  readonly total: NativeTokens
  readonly last: NativeTokens
  readonly modelContextWindow: number | null
}
export type NativePlanStep = {
  readonly step: string
  readonly status: 'pending' | 'inProgress' | 'completed'
}
export type NativeRateLimits = {
  readonly primary: { readonly usedPercent: number } | null
  readonly secondary: { readonly usedPercent: number } | null
  readonly rateLimitReachedType: string | null
}

// items
export type NativeUserInput =
  | { readonly type: 'text'; readonly text: string; readonly text_elements: readonly never[] }
  | { readonly type: 'image'; readonly url: string }
  | { readonly type: 'skill'; readonly name: string; readonly path: string }
export type NativeFileChange = {
  readonly path: string
  readonly kind: { readonly type: 'add' | 'delete' | 'update'; readonly move_path?: string | null }
  /** The text of a new or deleted file, otherwise a unified diff. */
  readonly diff: string
}
export type NativeCallStatus = 'inProgress' | 'completed' | 'failed' | 'declined' | 'interrupted'

type Item<Type extends string, Fields = unknown> = {
  readonly type: Type
  readonly id: string
} & Readonly<Fields>
type CallItem<Type extends string, Fields> = Item<Type, Fields> & { readonly status: NativeCallStatus }

/** A call of a subagent tool. The end of `spawnAgent` means that the subagent was started, not that it has ended. */
export type NativeCollabItem = CallItem<
  'collabAgentToolCall',
  {
    tool: string
    receiverThreadIds: readonly string[]
    prompt: string | null
    agentsStates: Readonly<Record<string, { status: string; message: string | null } | undefined>>
  }
>
/** The activity of a `multi_agent_v2` subagent. The id of the item with kind `started` is the id of the call. */
export type NativeSubagentItem = Item<
  'subAgentActivity',
  {
    kind: 'started' | 'interacted' | 'interrupted' | 'completed'
    agentThreadId: string
    agentPath: string
  }
>
/** Items that are tool calls: they start, and end with an outcome. */
export type NativeCallItem =
  | CallItem<
      'commandExecution',
      { command: string; cwd: string; aggregatedOutput: string | null; exitCode: number | null }
    >
  | CallItem<'fileChange', { changes: readonly NativeFileChange[] }>
  | CallItem<
      'mcpToolCall',
      {
        server: string
        tool: string
        arguments: unknown
        result: { content: readonly unknown[]; structuredContent?: unknown } | null
        error: { message: string } | null
      }
    >
  | CallItem<
      'dynamicToolCall',
      {
        namespace: string | null
        tool: string
        arguments: unknown
        contentItems: readonly { type: string; text?: string; imageUrl?: string }[] | null
      }
    >
  | NativeCollabItem
  | NativeSubagentItem
  | Item<'webSearch', { query: string }>
  | Item<'imageView', { path: string }>
  | Item<'sleep', { durationMs: number }>
  | Item<
      'imageGeneration',
      { status: string; revisedPrompt: string | null; result?: string; savedPath?: string }
    >
  | Item<
      'functionCallOutput',
      { name: string; namespace: string | null; output: string | readonly { type: string; text?: string }[] }
    >
export type NativeMessageItem = Item<
  'agentMessage',
  { text: string; questions?: readonly { title: string; options: readonly string[] | null }[] | null }
>
export type NativePlanItem = Item<'plan', { text: string }>
export type NativeReasoningItem = Item<
  'reasoning',
  { summary: readonly string[]; content: readonly string[] }
>
export type NativeReviewItem = Item<'enteredReviewMode' | 'exitedReviewMode', { review: string }>
export type NativeCompactionItem = Item<'contextCompaction'>
export type NativeItem =
  | NativeCallItem
  | NativeMessageItem
  | NativePlanItem
  | NativeReasoningItem
  | NativeReviewItem
  | NativeCompactionItem
  | Item<'userMessage', { clientId?: string | null; content?: unknown }>
  | Item<'hookPrompt'>

// requests
type OfItem = { readonly threadId: string; readonly turnId: string; readonly itemId: string }
export type NativeCommandApproval = OfItem & {
  readonly kind?: 'command' | 'writeStdin'
  readonly reason?: string | null
  readonly command?: string | null
  readonly cwd?: string | null
  readonly environmentId?: string | null
  readonly additionalPermissions?: Readonly<Record<string, unknown>> | null
  readonly networkApprovalContext?: { readonly host: string; readonly protocol: string } | null
}
export type NativeFileApproval = OfItem & {
  readonly reason?: string | null
  readonly grantRoot?: string | null
}
export type NativePermissionsApproval = OfItem & {
  readonly cwd: string
  readonly reason: string | null
  readonly permissions: Readonly<Record<string, unknown>>
}
export type NativeUserInputRequest = OfItem & { readonly questions: readonly NativeQuestion[] }
export type NativeQuestion = {
  readonly id: string
  readonly header: string
  readonly question: string
  readonly isOther: boolean
  readonly options: readonly { readonly label: string; readonly description: string }[] | null
}
export type NativeElicitation = {
  readonly threadId: string
  readonly serverName: string
  readonly mode: string
  readonly message?: string
  readonly requestedSchema?: Readonly<Record<string, unknown>>
  readonly url?: string
  /** Set when Codex asks whether a tool of the server may run. */
  readonly _meta?: {
    readonly codex_approval_kind?: string
    readonly tool_params?: unknown
  } | null
}

/** Notifications that intentionally produce no output. */
export const ignored: Readonly<Record<string, string>> = {
  'thread/started': 'the response to thread/start, resume or fork contains it',
  'thread/status/changed': 'the host tracks whether a turn runs and what it waits for',
  'thread/readState/changed': 'which messages a person has read in other programs',
  'thread/closed': 'the thread was unloaded because it has no listeners',
  'thread/attachment/updated': 'attachments of other programs that use the same thread',
  'thread/goal/updated': 'goals are switched off: each of our turns has one prompt',
  'thread/goal/cleared': 'goals are switched off: each of our turns has one prompt',
  'thread/prediction/updated': 'suggestions for the next prompt, which we never request',
  'thread/queue/changed': 'the host has its own queue of prompts',
  'thread/project/updated': 'projects of the desktop program',
  'project/changed': 'projects of the desktop program',
  'thread/environment/connected': 'environments on other machines, which we never add',
  'thread/environment/disconnected': 'environments on other machines, which we never add',
  'turn/diff/updated': 'all changes of the turn at once; each change is in its own call already',
  'turn/moderationMetadata': 'notes of the model service for its own use',
  'hook/started': 'hook/completed reports how the hook ended; the start adds nothing',
  'item/autoApprovalReview/started': 'item/autoApprovalReview/completed reports the outcome',
  'rawResponseItem/completed': 'sent only on request; the items contain the same data',
  'rawResponse/completed': 'sent only on request; the items contain the same data',
  'item/reasoning/summaryPartAdded': 'each piece of a part contains the number of the part',
  'thread/compacted': 'sent by older programs; the item contextCompaction contains the same data',
  'serverRequest/resolved': 'handled by the connection: the agent withdrew its request',
  'skills/changed': 'the commands of a session are those it started with',
  'app/list/updated': 'apps of the desktop program',
  'account/updated': 'the sign-in state is read when a session starts',
  'account/login/completed': 'signing in is done with the program itself',
  'command/exec/outputDelta': 'commands of the client, which we never start',
  'process/outputDelta': 'processes of the client, which we never start',
  'process/exited': 'processes of the client, which we never start',
  'mcpServer/event/stream/notification': 'event streams of MCP servers, which we never open',
  'remoteControl/status/changed': 'remote control of the desktop program',
  'externalAgentConfig/import/progress': 'imports, which we never start',
  'externalAgentConfig/import/completed': 'imports, which we never start',
  'fs/changed': 'watches on files, which we never set',
  'fuzzyFileSearch/sessionUpdated': 'searches, which we never start',
  'fuzzyFileSearch/sessionCompleted': 'searches, which we never start',
  'thread/realtime/started': 'spoken conversations, which we never start',
  'thread/realtime/itemAdded': 'spoken conversations, which we never start',
  'thread/realtime/item/started': 'spoken conversations, which we never start',
  'thread/realtime/item/transcript/delta': 'spoken conversations, which we never start',
  'thread/realtime/item/completed': 'spoken conversations, which we never start',
  'thread/realtime/transcript/delta': 'spoken conversations, which we never start',
  'thread/realtime/transcript/done': 'spoken conversations, which we never start',
  'thread/realtime/outputAudio/delta': 'spoken conversations, which we never start',
  'thread/realtime/sdp': 'spoken conversations, which we never start',
  'thread/realtime/error': 'spoken conversations, which we never start',
  'thread/realtime/closed': 'spoken conversations, which we never start',
  'windowsSandbox/setupCompleted': 'a setup that is done with the program itself',
}

/** Notifications of later releases than the tested one that are intentionally ignored. */
export const ignoredOfLater: Readonly<Record<string, string>> = {
  'thread/section/changed': 'sections of the list of conversations in the desktop program',
}

/** Items that intentionally produce no output. */
export const ignoredItems: Readonly<Record<string, string>> = {
  userMessage: 'the prompt is in our log already',
  hookPrompt: 'hook/completed contains the output of the hook',
}

/** Requests that are intentionally answered with an error. */
export const refusedRequests: Readonly<Record<string, string>> = {
  'item/tool/call': 'tools of the client, which we never register',
  'account/chatgptAuthTokens/refresh': 'tokens are kept by the program itself',
  'attestation/generate': 'attestation was not offered',
  'currentTime/read': 'the program has a clock of its own',
  applyPatchApproval: 'part of the first version of the protocol, which we do not use',
  execCommandApproval: 'part of the first version of the protocol, which we do not use',
}
