import type {
  Capabilities,
  CommandInput,
  NewSessionInput,
  PermissionMode,
  Receipt,
  SessionState,
} from '@parley/protocol'
import type { AgentAdapter, HostToolInfo, HostToolResult } from '../agent-adapter.ts'

/**
 * What the contract suite uses of a host. `contractHost` of @parley/server/testing provides it; the kit itself does not
 * depend on the server.
 */
export type ContractHosts = {
  createStore(): { close(): Promise<void> }
  createHost(options: HostNeeds): Promise<ContractHost>
  /** Snapshots of folders, stored in `root`, for `sessionFolder` of a host. */
  createSessionFolder(root: string): object
  /** Worktrees in `root`, for `worktrees` of a host. */
  createWorktrees(root: string): object
}

export type HostNeeds = {
  readonly adapters: readonly AgentAdapter[]
  readonly store: object
  readonly tools?: readonly ContractTool[] | undefined
  toolEnv?(session: object): Readonly<Record<string, string>>
  readonly limits?: Partial<
    Record<'idleCloseMs' | 'maxConnections' | 'backgroundMs' | 'backgroundTotalMs', number>
  >
  readonly sessionFolder?: object | undefined
  readonly worktrees?: object | undefined
}

/** A host tool whose checks and calls a test can observe. */
export type ContractTool = HostToolInfo & {
  prepare(
    input: unknown,
  ): Promise<{ readonly input: unknown; readonly problem?: never } | { readonly problem: string }>
  run(input: unknown, context: ToolContext): Promise<HostToolResult>
}
export type ToolContext = { readonly signal: AbortSignal; readonly toolCallId?: string }

export type ContractHost = {
  agents(): Promise<
    readonly { readonly capabilities: Capabilities; readonly modes: readonly PermissionMode[] }[]
  >
  create(input: NewSessionInput): Promise<{ readonly id: string }>
  command(sessionId: string, command: CommandInput): Promise<Receipt>
  follow(sessionId: string, from: { readonly after?: number }, reader: Reader): Promise<() => void>
  state(sessionId: string): Promise<SessionState>
  detail(sessionId: string, tail: number): Promise<{ readonly blocks: readonly { readonly id: string }[] }>
  waiting(): Promise<readonly { readonly request: { readonly requestId: string } }[]>
  setEnvironment(change: {
    readonly sessionId: string
    readonly variables: Readonly<Record<string, string>>
  }): Promise<unknown>
  suggestMessage(
    sessionId: string,
    paths: readonly string[],
  ): Promise<{ readonly message: string; readonly by: string; readonly why?: string | undefined }>
  close(): Promise<void>
}

type Reader = {
  readonly native?: boolean
  following(): void
  deliver(batch: readonly { readonly kind: string; readonly json: string }[]): void
  caughtUp(): void
  ended(): void
}
