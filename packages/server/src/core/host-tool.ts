import {
  type HostToolInfo,
  type HostToolResult,
  hostToolServer,
  type PermissionAsk,
} from '@parley/adapter-kit'
import {
  hostToolName,
  type McpServers,
  ParleyError,
  type SessionOptions,
  type SessionSettings,
} from '@parley/protocol'

/** The environment variables of a session's tools, as the host sets them. */
export type HostToolEnv = (session: {
  readonly sessionId: string
  readonly cwd: string
}) => Readonly<Record<string, string>>

/** The context of a tool call, passed with its input. */
export type HostToolContext = {
  readonly sessionId: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Aborts when nobody waits for the result any more: the agent withdrew the call, or its turn is over. */
  readonly signal: AbortSignal
  readonly toolCallId?: string
  /**
   * A folder for temporary files, the same for all calls of the session. It is created when a call first asks for it,
   * and removed when the session is closed, is deleted or leaves memory, or when the host is closed.
   */
  temporaryFolder(): Promise<string>
}

/** Core does not access files: the creator of a host determines where temporary folders are. */
export type TemporaryFolders = {
  of(sessionId: string): Promise<string>
  remove(sessionId: string): Promise<void>
  removeAll(): Promise<void>
}

/** A tool that a host registers. Neither function may reject. `run` gets the input that `prepare` returned. */
export type HostTool = HostToolInfo & {
  /** The input as `run` takes it, or a description of the problem that a model can act on. */
  prepare(
    input: unknown,
  ): Promise<{ readonly input: unknown; readonly problem?: never } | { readonly problem: string }>
  run(input: unknown, context: HostToolContext): Promise<HostToolResult>
}

/** Host tools by their names in logs and rules. */
export type HostToolSet = ReadonlyMap<string, HostTool>

const longestName = 48
/**
 * Matches names that every agent accepts. Two underscores are refused separately, because agents put them
 * between a server and its tool.
 */
const namePattern = /^[A-Za-z][A-Za-z0-9_-]*$/

export function hostToolSet(tools: readonly HostTool[] = []): HostToolSet {
  const set = new Map<string, HostTool>()
  for (const tool of tools) {
    const problem = nameProblem(tool.name)
    if (problem) throw new ParleyError('validation_error', problem, { details: { tool: tool.name } })
    if (set.has(hostToolName(tool.name))) {
      throw new ParleyError('validation_error', `Two host tools have the name "${tool.name}". Rename one.`, {
        details: { tool: tool.name },
      })
    }
    set.set(hostToolName(tool.name), tool)
  }
  return set
}

/** The reason why a host tool cannot have this name; undefined if it can. */
export function nameProblem(name: string): string | undefined {
  if (namePattern.test(name) && !name.includes('__') && name.length <= longestName) return undefined
  return `"${name}" is not a valid name of a host tool: a name has only letters, digits, - and single _, begins with a letter, and has at most ${longestName} characters.`
}

/** Refuses MCP servers that conflict with the host tools. */
export function checkMcpServers(servers: McpServers = {}, options: SessionOptions = {}): void {
  if (options.hostToolsOnly && Object.keys(servers).length > 0) {
    const message = 'hostToolsOnly and mcpServers cannot be combined. Omit one of them.'
    throw new ParleyError('validation_error', message)
  }
  if (Object.hasOwn(servers, hostToolServer)) {
    const message = `The MCP server "${hostToolServer}" is reserved for the host. Use another name.`
    throw new ParleyError('validation_error', message)
  }
}

/** Replaces the agent's description of a host tool with the host's own. */
export function describedByHost(tools: HostToolSet, ask: PermissionAsk): PermissionAsk {
  const tool = tools.get(ask.tool)
  if (!tool) return ask
  const { title, kind, readOnly } = tool.annotations
  return { ...ask, title, kind, readOnly }
}

export function otherTools(reported: readonly string[], tools: HostToolSet): string[] {
  return reported.filter((name) => !tools.has(name))
}

/** The host tools that a session with these settings is offered. */
export function toolsFor(tools: HostToolSet, { options }: SessionSettings): HostTool[] {
  const only = options?.tools
  return [...tools].filter(([name]) => !only || only.includes(name)).map(([, tool]) => tool)
}
