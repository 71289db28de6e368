import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { builtInAdapters } from '../adapters/index.ts'
import type { AgentAdapter } from '../core/agent-adapter.ts'
import { testAgentsFolder } from './agents-folder.ts'
import { claudeEnvironment } from './claude-environment.ts'
import { codexEnvironment } from './codex-environment.ts'
import { geminiEnvironment } from './gemini-environment.ts'
import type { ModelAnswer } from './model-server.ts'
import { opencodeEnvironment } from './opencode-environment.ts'

/** A real agent, and the answer in which its model calls a command. */
export type RealAgent = {
  readonly adapter: () => AgentAdapter
  readonly command: (line: string, id?: string) => ModelAnswer
}

export type RealAgentName = 'claude' | 'codex' | 'opencode' | 'gemini' | 'claude-acp'

/** Every real agent of the tests, with a home of its own, against one scripted model on loopback. */
export function realAgents({ url, home }: { url: string; home: string }): Record<RealAgentName, RealAgent> {
  const at = (name: RealAgentName) => {
    const own = join(home, name)
    mkdirSync(own, { recursive: true })
    return { url, home: own }
  }
  const call = (name: string, input: (line: string) => object) => ({
    command: (line: string, id = 'toolu_a'): ModelAnswer => ({
      toolCalls: [{ name, id, arguments: JSON.stringify(input(line)) }],
    }),
  })
  const bash = (command: string) => ({ command, description: 'a command' })
  return {
    claude: {
      adapter: () => adapterOf('claude', claudeEnvironment(at('claude'))),
      ...call('Bash', bash),
    },
    codex: {
      adapter: () => adapterOf('codex', codexEnvironment(at('codex'))),
      ...call('exec_command', (cmd) => ({ cmd })),
    },
    opencode: {
      adapter: () => adapterOf('opencode', opencodeEnvironment(at('opencode'))),
      ...call('bash', bash),
    },
    gemini: {
      adapter: () => adapterOf('gemini', geminiEnvironment(at('gemini'))),
      ...call('run_shell_command', bash),
    },
    'claude-acp': {
      adapter: () => adapterOf('claude-acp', claudeEnvironment(at('claude-acp'))),
      ...call('Bash', bash),
    },
  }
}

function adapterOf(id: RealAgentName, env: Record<string, string>): AgentAdapter {
  const adapter = builtInAdapters({ env, agentsFolder: testAgentsFolder() }).find((one) => one.id === id)
  if (adapter) return adapter
  throw new Error(`there is no agent ${id}`)
}
