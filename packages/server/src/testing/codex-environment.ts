import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WireEvent } from './model-server.ts'

export type CodexSetup = {
  readonly url: string
  readonly home: string
  readonly retries?: number
  /** Turns on the second of Codex's two kinds of subagents, which its newer models use. */
  readonly secondSubagents?: boolean
  readonly hooks?: boolean
  /** More of Codex's own settings, as TOML. */
  readonly settings?: string
}

/**
 * The environment for the real Codex against a model server on loopback, isolated from this machine. The settings in
 * its home name the server. Its temporary folder is not a parent of its home, because Codex would report that as a
 * problem.
 */
export function codexEnvironment(setup: CodexSetup): Record<string, string> {
  const { url, home, retries = 0, secondSubagents = true, hooks = true, settings = '' } = setup
  const folders = { CODEX_HOME: join(home, '.codex'), TMPDIR: join(home, 'tmp') }
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folders.CODEX_HOME, 'config.toml'),
    `model = "gpt-4o-mock"
model_provider = "mock"
model_reasoning_summary = "auto"
${settings}
[features]
multi_agent_v2 = ${secondSubagents}
hooks = ${hooks}
[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = ${retries}
stream_max_retries = ${retries}
`,
  )
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    OPENAI_API_KEY: 'placeholder',
    ...folders,
  }
}

/**
 * In an event of the model, splits a tool name of the form `namespace/tool` into the two fields that Codex expects for
 * tools of MCP servers and subagents. The model server cannot send a namespace itself.
 */
export function withNamespaces(event: WireEvent): WireEvent {
  const { item, response } = event as {
    item?: NativeCall
    response?: { readonly output?: readonly NativeCall[] }
  }
  return {
    ...event,
    ...(item && { item: named(item) }),
    ...(response?.output && { response: { ...response, output: response.output.map(named) } }),
  }
}

type NativeCall = { readonly type?: string; readonly name?: string }

function named(call: NativeCall): NativeCall {
  const [namespace, name] = call.type === 'function_call' ? (call.name?.split('/') ?? []) : []
  return name === undefined ? call : ({ ...call, name, namespace } as NativeCall)
}
