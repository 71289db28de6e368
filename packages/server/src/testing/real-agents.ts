import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import type { Environment } from '@parley/adapter-kit/environment'
import { builtInAdapters } from '../adapters/index.ts'
import type { AgentHome } from './agent-home.ts'
import { testAgentsFolder } from './agents-folder.ts'
import type { ModelAnswer } from './model-server.ts'

/** A real agent, and the answer in which its model runs a command. */
export type RealAgent = {
  readonly adapter: () => AgentAdapter
  readonly command: (line: string, id?: string) => ModelAnswer
}

export type RealAgentName = 'claude' | 'codex' | 'opencode' | 'gemini' | 'claude-acp'

/** Every real agent of the tests, each in its own subfolder of this home. */
export function realAgents(home: AgentHome): Record<RealAgentName, RealAgent> {
  const own = (name: RealAgentName) => {
    const folder = join(home.path, name)
    mkdirSync(folder, { recursive: true })
    return () => adapterOf(name, home.env(name, { home: folder }))
  }
  const call = (name: string, input: (line: string) => object) => ({
    command: (line: string, id = 'toolu_a'): ModelAnswer => ({
      toolCalls: [{ name, id, arguments: JSON.stringify(input(line)) }],
    }),
  })
  const bash = (command: string) => ({ command, description: 'a command' })
  return {
    claude: {
      adapter: own('claude'),
      ...call('Bash', bash),
    },
    codex: {
      adapter: own('codex'),
      ...call('exec_command', (cmd) => ({ cmd })),
    },
    opencode: {
      adapter: own('opencode'),
      ...call('bash', bash),
    },
    gemini: {
      adapter: own('gemini'),
      ...call('run_shell_command', bash),
    },
    'claude-acp': {
      adapter: own('claude-acp'),
      ...call('Bash', bash),
    },
  }
}

/** The adapter of an agent from the list of built-in adapters. */
export function adapterOf(id: RealAgentName, env: Environment): AgentAdapter {
  const adapter = builtInAdapters({ env, agentsFolder: testAgentsFolder() }).find((one) => one.id === id)
  if (adapter) return adapter
  throw new Error(`there is no agent ${id}`)
}
