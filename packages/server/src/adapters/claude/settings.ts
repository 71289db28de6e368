import { join } from 'node:path'
import type {
  ClaimOptions,
  PermissionMode as NativeMode,
  Options,
  Query,
} from '@anthropic-ai/claude-agent-sdk'
import type { ConnectInput } from '@parley/adapter-kit'
import { readRegularFile } from '@parley/adapter-kit/regular-file'
import {
  hostToolPrefix,
  type PermissionMode,
  type SessionOptions,
  type SessionSettings,
} from '@parley/protocol'

/** Maps our modes to Claude's. The host enforces read-only, so the agent runs in its default mode. */
export const nativeModes: Readonly<Record<PermissionMode, NativeMode>> = {
  ask: 'default',
  'accept-edits': 'acceptEdits',
  'read-only': 'default',
  plan: 'plan',
  bypass: 'bypassPermissions',
}

/** The mode in which a process starts; a wider mode is set once the process runs. */
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

/** The session settings that apply for the lifetime of the process. */
export function processOptions({ options = {} }: SessionSettings): Options {
  return {
    includePartialMessages: true,
    forwardSubagentText: true,
    // An interrupt ends only the turn. Background tasks keep running; stopTask stops each of them.
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

/** The remaining session settings, for a process that is started for the session. */
export function sessionOptions({ settings, cwd, trusted }: ConnectInput): Options {
  const { model, mode = 'ask', options = {} } = settings
  return {
    cwd,
    permissionMode: startMode(mode),
    ...(model !== undefined && { model }),
    ...(options.effort !== undefined && { effort: options.effort as NonNullable<Options['effort']> }),
    ...(options.directories && { additionalDirectories: options.directories }),
    ...grantsOfFolder(trusted, cwd),
  }
}

/** The remaining session settings, for a process that was started without a session. */
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

export async function applySettings(query: Query, { model, mode, options }: SessionSettings): Promise<void> {
  if (mode !== undefined) await query.setPermissionMode(nativeModes[mode])
  if (model !== undefined) await query.setModel(model)
  if (options?.effort === undefined) return
  const flags = { effortLevel: options.effort } as Parameters<Query['applyFlagSettings']>[0]
  await query.applyFlagSettings(flags)
}

/**
 * The agent's own tools that the session may use. Host tools are not among them: they come with their MCP
 * server.
 */
function builtInTools({ tools, hostToolsOnly }: SessionOptions): Pick<Options, 'tools'> {
  if (hostToolsOnly) return { tools: [] }
  return tools ? { tools: tools.filter((name) => !name.startsWith(hostToolPrefix)) } : {}
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

export type SettingSources = NonNullable<Options['settingSources']>
type FolderGrants = { readonly permissions: { allow: string[]; additionalDirectories: string[] } }

/**
 * The settings to load: the person's own, unless the session excludes them, and the folder's, with its MCP servers, if
 * the folder is trusted.
 */
export function settingSourcesFor(trusted: boolean, userSettings: boolean): SettingSources {
  return [...(userSettings ? (['user'] as const) : []), ...(trusted ? (['project', 'local'] as const) : [])]
}

/**
 * The grants in the settings files of a trusted folder, in the form in which they are passed to Claude Code. Claude
 * Code ignores a folder's grants unless the folder was trusted in its own terminal. A person who trusts the folder in
 * Parley has accepted the grants too.
 */
export function grantsOfFolder(trusted: boolean, cwd: string): { settings?: FolderGrants } {
  if (!trusted) return {}
  const found = settingsFiles({}, cwd, ['project', 'local']).map(permissionsIn)
  const allow = found.flatMap((permissions) => texts(permissions?.allow))
  const additionalDirectories = found.flatMap((permissions) => texts(permissions?.additionalDirectories))
  if (allow.length + additionalDirectories.length === 0) return {}
  return { settings: { permissions: { allow, additionalDirectories } } }
}

/**
 * The permissions in a settings file. A file that cannot be read or parsed has none; Claude Code itself reports the
 * problem.
 */
function permissionsIn(file: string): Record<string, unknown> | undefined {
  const { permissions } = settingsIn(file).settings as { permissions?: Record<string, unknown> }
  return permissions
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

const largestSettings = 4 * 1024 * 1024

/** Reads a settings file of Claude Code. `isUnclear`: the file exists, but cannot be read or parsed here. */
export function settingsIn(file: string): { settings: Record<string, unknown>; isUnclear: boolean } {
  try {
    const value: unknown = JSON.parse(readRegularFile(file, largestSettings))
    const isObject = typeof value === 'object' && value !== null
    return { settings: isObject ? (value as Record<string, unknown>) : {}, isUnclear: !isObject }
  } catch (error) {
    return { settings: {}, isUnclear: (error as NodeJS.ErrnoException).code !== 'ENOENT' }
  }
}

/** The folder of the person's own settings, transcripts and credentials. */
export function configFolder(env: Readonly<Record<string, string>>): string {
  return env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? '', '.claude')
}

/** The settings files that Claude Code loads in a folder. */
export function settingsFiles(
  env: Readonly<Record<string, string>>,
  cwd: string,
  sources: SettingSources,
): string[] {
  const files = {
    user: join(configFolder(env), 'settings.json'),
    project: join(cwd, '.claude', 'settings.json'),
    local: join(cwd, '.claude', 'settings.local.json'),
  }
  return sources.map((source) => files[source])
}
