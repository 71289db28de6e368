import type { Options } from '@anthropic-ai/claude-agent-sdk'
import { type HostTools, hostToolServer } from '@parley/adapter-kit'
import { createHostToolServer } from '@parley/adapter-kit/host-tool-server'
import type { McpServers, SessionSettings } from '@parley/protocol'

export type HostToolCalls = {
  /** Resolves to our id of a call, once the host has recorded the call. */
  callId(nativeId: string): Promise<string>
  parentOf(toolCallId: string): { parentToolCallId?: string }
  /** Marks a call that did not run: its result is a refusal, not a failure. */
  denied(toolCallId: string): void
}

/**
 * The MCP servers of the session, and a server in this process for the host tools. With `hostToolsOnly`, only the
 * server for the host tools.
 */
export function mcpServersFor(
  {
    hostTools,
    mcpServers,
    settings,
  }: {
    readonly hostTools: HostTools | undefined
    readonly mcpServers?: McpServers
    readonly settings: SessionSettings
  },
  calls: HostToolCalls,
): Pick<Options, 'mcpServers' | 'strictMcpConfig'> {
  const only = settings.options?.hostToolsOnly === true
  const servers = {
    ...(!only && (mcpServers as Options['mcpServers'])),
    ...(hostTools && {
      [hostToolServer]: { type: 'sdk' as const, name: hostToolServer, instance: server(hostTools, calls) },
    }),
  }
  return {
    ...(Object.keys(servers).length > 0 && { mcpServers: servers }),
    ...(only && { strictMcpConfig: true }),
  }
}

function server(hostTools: HostTools, calls: HostToolCalls) {
  return createHostToolServer(hostTools, {
    // Makes Claude Code load the tools at once. Otherwise the model would have to search for them first.
    meta: { 'anthropic/alwaysLoad': true },
    async callOf(meta) {
      const nativeId = meta['claudecode/toolUseId']
      if (typeof nativeId !== 'string') return {}
      const toolCallId = await calls.callId(nativeId)
      return { toolCallId, ...calls.parentOf(toolCallId) }
    },
    answered(answer, toolCallId) {
      if (answer.denied && toolCallId !== undefined) calls.denied(toolCallId)
    },
  })
}
