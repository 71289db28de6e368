import type { ClaimOptions, PermissionMode as NativeMode, Options } from '@anthropic-ai/claude-agent-sdk'
import {
  hostToolPrefix,
  type PermissionMode,
  type SessionOptions,
  type SessionSettings,
} from '@parley/protocol'
import type { ConnectInput } from '../../core/agent-adapter.ts'
import { grantsOfFolder } from './trust.ts'

/**
 * Our modes and Claude's. Read-only is enforced by the host, by the kind of tool: the agent runs in its default mode.
 */
export const nativeModes: Readonly<Record<PermissionMode, NativeMode>> = {
  ask: 'default',
  'accept-edits': 'acceptEdits',
  'read-only': 'default',
  plan: 'plan',
  bypass: 'bypassPermissions',
}

/** The mode in which a process starts; a wider mode is set once it runs. */
export function startMode(mode: PermissionMode): NativeMode {
  return mode === 'plan' ? 'plan' : 'default'
}

/** The session options that this adapter supports. */
export const honouredOptions = [
  'effort',
  'hostToolsOnly',
  'systemPrompt',
  'appendSystemPrompt',
  'maxTurns',
  'maxBudgetUsd',
  'directories',
  'outputSchema',
  'userSettings',
] as const satisfies readonly (keyof SessionOptions)[]

/** The session settings that hold for the lifetime of the process. */
export function processOptions({ options = {} }: SessionSettings): Options {
  return {
    includePartialMessages: true,
    enableFileCheckpointing: true,
    forwardSubagentText: true,
    // An interrupt ends the turn and leaves background tasks running: they are stopped one by one (stopTask).
    perTaskStopAffordance: true,
    ...builtInTools(options),
    ...systemPrompt(options),
    ...(options.maxTurns !== undefined && { maxTurns: options.maxTurns }),
    ...(options.maxBudgetUsd !== undefined && { maxBudgetUsd: options.maxBudgetUsd }),
    ...(options.outputSchema && {
      outputFormat: { type: 'json_schema' as const, schema: options.outputSchema },
    }),
  }
}

/** The other settings, for a process that is started for the session. */
export function sessionOptions(
  { settings, cwd, resume, trusted }: ConnectInput,
  isWritten: boolean,
): Options {
  const { model, mode = 'ask', options = {} } = settings
  return {
    cwd,
    permissionMode: startMode(mode),
    ...(model !== undefined && { model }),
    ...(options.effort !== undefined && { effort: options.effort as NonNullable<Options['effort']> }),
    ...(options.directories && { additionalDirectories: options.directories }),
    ...grantsOfFolder(trusted, cwd),
    ...(resume && resumption(resume, isWritten)),
  }
}

/** The other settings, for a process that was started without a session. */
export function claimOptions({
  settings,
  cwd,
  trusted,
}: Pick<ConnectInput, 'cwd' | 'settings' | 'trusted'>): ClaimOptions {
  const { model, mode = 'ask', options = {} } = settings
  const overlay = {
    ...grantsOfFolder(trusted, cwd).settings,
    ...(options.effort !== undefined && { effortLevel: options.effort }),
  } as NonNullable<ClaimOptions['settings']>
  return {
    cwd,
    permissionMode: startMode(mode),
    ...(model !== undefined && { model }),
    ...(options.directories && { additionalDirectories: options.directories }),
    ...(Object.keys(overlay).length > 0 && { settings: overlay }),
  }
}

/** The list covers the agent's own tools; host tools come with their MCP server. */
function builtInTools({ tools, hostToolsOnly }: SessionOptions): Pick<Options, 'tools'> {
  if (hostToolsOnly) return { tools: [] }
  return tools ? { tools: tools.filter((name) => !name.startsWith(hostToolPrefix)) } : {}
}

/**
 * A conversation whose process was killed before it wrote its first line cannot be resumed: it is started under its
 * id.
 */
function resumption(
  { agentSessionId, fork, turns }: NonNullable<ConnectInput['resume']>,
  isWritten: boolean,
): Options {
  if (turns === 0 && !isWritten) return { sessionId: agentSessionId }
  return { resume: agentSessionId, ...(fork && { forkSession: true }) }
}

function systemPrompt({ systemPrompt, appendSystemPrompt }: SessionOptions): Pick<Options, 'systemPrompt'> {
  if (systemPrompt !== undefined) {
    return {
      systemPrompt:
        appendSystemPrompt === undefined ? systemPrompt : `${systemPrompt}\n\n${appendSystemPrompt}`,
    }
  }
  const append = appendSystemPrompt === undefined ? {} : { append: appendSystemPrompt }
  return { systemPrompt: { type: 'preset', preset: 'claude_code', ...append } }
}
