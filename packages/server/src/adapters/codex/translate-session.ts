import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice } from '@parley/adapter-kit/translation'
import type { NativeThreadSettings } from './native.ts'
import { optionsInForce, type TranslateState, type Translation } from './translate-state.ts'

/** Reports the model and the effort if they have changed. The mode is not reported, because the host enforces it. */
export function takeSettings(
  state: TranslateState,
  { threadId, threadSettings }: { threadId: string; threadSettings: NativeThreadSettings },
): Translation {
  if (threadId !== state.threadId) return noOutput(state)
  const { model } = threadSettings
  const effort = threadSettings.effort ?? undefined
  if (model === state.reported.model && effort === state.reported.effort) return noOutput(state)
  const next = { ...state, reported: { ...state.reported, model, effort } }
  return {
    state: next,
    outputs: [{ type: 'session.configured', effective: { model, ...optionsInForce(next) } }],
  }
}

export function takeName(
  state: TranslateState,
  { threadId, threadName }: { threadId: string; threadName?: string | null },
): Translation {
  if (threadId !== state.threadId || !threadName) return noOutput(state)
  return { state, outputs: [{ type: 'session.renamed', title: threadName, by: 'agent' }] }
}

/** Reports an MCP server when it is ready or has failed, but not while it is starting. */
export function takeMcpStatus(
  state: TranslateState,
  { name, status, error }: { name: string; status: string; error: string | null },
): Translation {
  if (status === 'starting' || state.mcpServers[name] === status) return noOutput(state)
  const mcpServers = { ...state.mcpServers, [name]: status }
  const list = Object.entries(mcpServers).map(([server, now]) => ({ name: server, status: now }))
  const outputs: AgentOutput[] = [{ type: 'agent.connected', mcpServers: list }]
  if (status === 'failed') {
    const text = `The MCP server ${name} could not be started: ${error ?? 'no reason given'}`
    outputs.push(notice('warning', 'mcp-failed', text))
  }
  return { state: { ...state, mcpServers }, outputs }
}
