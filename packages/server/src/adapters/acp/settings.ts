import type { ClientContext, McpServer as NativeServer } from '@agentclientprotocol/sdk/unstable'
import type { ConnectInput } from '@parley/adapter-kit'
import {
  isRecord,
  type McpServers,
  ParleyError,
  type PermissionMode,
  type SessionSettings,
} from '@parley/protocol'
import type { KnownAgent } from './agent.ts'
import type { NativeConfig, NativeInitialized } from './native.ts'
import { optionOf } from './translate-session.ts'
import type { TranslateState } from './translate-state.ts'

/**
 * The client capabilities that Parley offers. It offers no terminals, because an agent runs its commands itself,
 * after it has requested permission.
 */
export function clientCapabilities({ files }: KnownAgent) {
  return {
    fs: { readTextFile: files.includes('read'), writeTextFile: files.includes('write') },
    terminal: false,
    elicitation: { form: {}, url: {} },
    session: { notices: {}, compaction: {} },
  }
}

/** The arguments of the command line, with the additional folders. */
export function commandLine({ args, directories }: KnownAgent, { settings }: ConnectInput): string[] {
  const folders = settings.options?.directories ?? []
  return [...args, ...(directories === undefined ? [] : folders.flatMap((folder) => [directories, folder]))]
}

export function sessionParams(agent: KnownAgent, input: ConnectInput, about: NativeInitialized) {
  const abilities = about.agentCapabilities?.sessionCapabilities ?? {}
  const directories = input.settings.options?.directories ?? []
  const _meta = sessionMeta(agent, input)
  return {
    cwd: input.cwd,
    mcpServers: nativeServers(agent, input, about),
    ...(directories.length > 0 &&
      'additionalDirectories' in abilities && { additionalDirectories: directories }),
    ...(_meta && { _meta }),
  }
}

export function sessionMeta({ dialect: { meta } }: KnownAgent, { trusted }: { trusted: boolean }) {
  return trusted ? meta?.always : merged(meta?.always, meta?.untrusted)
}

function nativeServers(agent: KnownAgent, input: ConnectInput, about: NativeInitialized): NativeServer[] {
  const servers = Object.entries(input.mcpServers ?? {})
  const { http, sse } = about.agentCapabilities?.mcpCapabilities ?? {}
  return servers.map(([name, server]) => {
    if (!('url' in server)) return stdioServer(name, server)
    if (!(server.type === 'http' ? http : sse)) {
      throw new ParleyError(
        'not_supported',
        `${agent.name} does not support MCP servers over ${server.type} (${name}).`,
      )
    }
    return { type: server.type, name, url: server.url, headers: pairs(server.headers) }
  })
}

function stdioServer(name: string, server: Extract<McpServers[string], { command: string }>): NativeServer {
  return { name, command: server.command, args: server.args ?? [], env: pairs(server.env) }
}

function pairs(record: Readonly<Record<string, string>> | undefined): { name: string; value: string }[] {
  return Object.entries(record ?? {}).map(([name, value]) => ({ name, value }))
}

type Json = Readonly<Record<string, unknown>>

function merged(a: Json | undefined, b: Json | undefined): Json | undefined {
  if (!a || !b) return a ?? b
  const both = Object.keys(b).map((key) => {
    const [left, right] = [a[key], b[key]]
    return [key, isRecord(left) && isRecord(right) ? merged(left, right) : right]
  })
  return { ...a, ...Object.fromEntries(both) }
}

/**
 * Sets the agent's mode. Rejects if the agent refuses it; the agent reports when the mode is in effect. Returns false
 * for a mode that the host alone enforces, or that the agent is in already: the agent then reports nothing.
 */
export async function applyMode(
  agent: ClientContext,
  state: TranslateState,
  mode: PermissionMode | undefined,
): Promise<boolean> {
  const { sessionId = '', config, modes } = state
  const native = mode === undefined ? undefined : modes[mode]
  if (mode !== undefined) await applyPlan(agent, state, mode)
  if (native === undefined || native === null || native === config.mode) return false
  const option = optionOf(state, 'mode')
  if (config.hasModes || !option) await agent.request('session/set_mode', { sessionId, modeId: native })
  else await choose(agent, sessionId, option, native)
  return true
}

async function applyPlan(agent: ClientContext, state: TranslateState, mode: PermissionMode): Promise<void> {
  const { planOption } = state.dialect
  const option = planOption && optionOf(state, planOption.category)
  if (!option) return
  const value = mode === 'plan' ? planOption.on : planOption.off
  if (option.currentValue !== value) await choose(agent, state.sessionId ?? '', option, value)
}

/** Sets the model and its effort, in the same way as `applyMode`. */
export async function applyModel(
  agent: ClientContext,
  state: () => TranslateState,
  { model, options }: SessionSettings,
): Promise<void> {
  const { sessionId = '', config } = state()
  if (model !== undefined && model !== config.model) {
    const option = optionOf(state(), 'model')
    if (option) await choose(agent, sessionId, option, model)
    else await agent.request('session/set_model', { sessionId, modelId: model })
  }
  if (options?.effort === undefined) return
  const option = optionOf(state(), 'thought_level')
  if (!option) throw new ParleyError('not_supported', 'This model does not support choosing an effort.')
  if (option.currentValue !== options.effort) await choose(agent, sessionId, option, options.effort)
}

async function choose(
  agent: ClientContext,
  sessionId: string,
  { id }: NativeConfig,
  value: string,
): Promise<void> {
  await agent.request('session/set_config_option', { sessionId, configId: id, value })
}
