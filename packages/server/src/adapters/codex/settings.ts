import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ConnectInput } from '@parley/adapter-kit'
import {
  type McpServer,
  type McpServers,
  ParleyError,
  type PermissionMode,
  type SessionOptions,
  type SessionSettings,
} from '@parley/protocol'
import type {
  NativeApprovalPolicy,
  NativeCollaborationMode,
  NativeSandboxMode,
  NativeSandboxPolicy,
} from './native.ts'

/** The session options that this adapter supports. */
export const honouredOptions = [
  'effort',
  'systemPrompt',
  'appendSystemPrompt',
  'directories',
  'outputSchema',
] as const satisfies readonly (keyof SessionOptions)[]

export const offeredModes: readonly PermissionMode[] = ['ask', 'accept-edits', 'read-only', 'plan', 'bypass']

/**
 * Makes Codex ask about every command and every change of files in every mode; the host answers according to the mode.
 * For Codex, a mode therefore only selects a sandbox. An approved command may leave the sandbox.
 */
export const approvalPolicy = 'untrusted' satisfies NativeApprovalPolicy
const sandboxes: Readonly<Record<PermissionMode, NativeSandboxMode>> = {
  ask: 'workspace-write',
  'accept-edits': 'workspace-write',
  'read-only': 'read-only',
  plan: 'read-only',
  bypass: 'danger-full-access',
}

export type NativeConfig = Record<string, unknown>

/** The parameters to start, resume or fork a conversation. `config` overrides the person's settings. */
export function threadParams(input: ConnectInput, config: NativeConfig): Record<string, unknown> {
  const { settings, cwd } = input
  const { mode = 'ask', model, options = {} } = settings
  return {
    cwd,
    approvalPolicy,
    approvalsReviewer: 'user',
    sandbox: sandboxes[mode],
    config,
    ...(options.directories && { runtimeWorkspaceRoots: [cwd, ...options.directories] }),
    ...(model !== undefined && { model }),
    ...(options.systemPrompt !== undefined && { baseInstructions: options.systemPrompt }),
    ...(options.appendSystemPrompt !== undefined && { developerInstructions: options.appendSystemPrompt }),
  }
}

/**
 * The parameters of a turn. They repeat the settings, since the conversation may have been opened with other settings.
 */
export function turnParams(
  { mode = 'ask', model, options = {} }: SessionSettings,
  context: { cwd: string; model: string; sandbox: NativeSandboxPolicy; wasPlan: boolean },
): Record<string, unknown> {
  const collaborationMode: NativeCollaborationMode = {
    mode: mode === 'plan' ? 'plan' : 'default',
    settings: {
      model: model ?? context.model,
      reasoning_effort: options.effort ?? null,
      developer_instructions: null,
    },
  }
  return {
    cwd: context.cwd,
    approvalPolicy,
    approvalsReviewer: 'user',
    sandboxPolicy: sandboxPolicy(mode, context.sandbox, options.directories ?? []),
    ...(model !== undefined && { model }),
    ...(options.effort !== undefined && { effort: options.effort }),
    ...((mode === 'plan' || context.wasPlan) && { collaborationMode }),
  }
}

/**
 * The sandbox of a mode. If the person's own settings have a sandbox of the same type, that sandbox is used unchanged.
 */
function sandboxPolicy(
  mode: PermissionMode,
  started: NativeSandboxPolicy,
  directories: readonly string[],
): NativeSandboxPolicy {
  if (mode === 'bypass') return { type: 'dangerFullAccess' }
  if (sandboxes[mode] === 'read-only')
    return started.type === 'readOnly' ? started : { type: 'readOnly', networkAccess: false }
  if (started.type === 'workspaceWrite') return started
  return {
    type: 'workspaceWrite',
    writableRoots: directories,
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  }
}

/** Settings for this conversation only. */
export function nativeConfig(
  { cwd, trusted, mcpServers = {}, settings, person }: ConnectInput,
  { hooks, hostTools }: { hooks?: NativeConfig | undefined; hostTools?: NativeConfig | undefined } = {},
): NativeConfig {
  const forbidden = (tool: string, kind: 'fetch' | 'think') =>
    person.forbids({ tool, kind, title: tool, input: {}, readOnly: true })
  return {
    projects: trustOf(cwd, trusted),
    thread_unload_delay_secs: 0,
    suppress_unstable_features_warning: true,
    features: {
      default_mode_request_user_input: true,
      goals: false,
      // Terminal input is not subject to approval, so commands get no terminal and no input.
      unified_exec_tty: false,
      ...(forbidden('spawn_agent', 'think') && { multi_agent: false, multi_agent_v2: false }),
      ...(forbidden('image_generation', 'think') && { image_generation: false }),
    },
    tools: { update_plan: { enabled: true } },
    ...(forbidden('web_search', 'fetch') && { web_search: 'disabled' }),
    ...(settings.options?.effort !== undefined && { model_reasoning_effort: settings.options.effort }),
    mcp_servers: { ...nativeServers(mcpServers), ...hostTools },
    ...(hooks && { hooks }),
  }
}

/**
 * The trust level of the session's folder, in the form in which Codex stores it. It is set for untrusted folders too:
 * otherwise Codex would trust an unknown folder and store this in the person's settings.
 */
function trustOf(cwd: string, trusted: boolean): NativeConfig {
  const folders = new Set([cwd, real(cwd), gitRoot(real(cwd)) ?? cwd])
  const level = { trust_level: trusted ? 'trusted' : 'untrusted' }
  return Object.fromEntries([...folders].map((folder) => [folder, level]))
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function gitRoot(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder
  const above = dirname(folder)
  return above === folder ? undefined : gitRoot(above)
}

function nativeServers(servers: McpServers): NativeConfig {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, nativeServer(name, server)]),
  )
}

/**
 * An MCP server of the session in the form of Codex's settings. Every tool of the server needs approval, whatever the
 * server declares.
 */
function nativeServer(name: string, server: McpServer): NativeConfig {
  const asks = { default_tools_approval_mode: 'prompt' }
  if ('command' in server) {
    const { command, args = [], env } = server
    return { ...asks, command, args, ...(env && { env }) }
  }
  if (server.type === 'sse') {
    const message = `Codex cannot use the MCP server ${name}: it supports stdio and http, not sse.`
    throw new ParleyError('not_supported', message)
  }
  return { ...asks, url: server.url, ...(server.headers && { http_headers: server.headers }) }
}
