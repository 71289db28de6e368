import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { claudeAcp, createAcpAdapter, gemini } from '../adapters/acp/index.ts'
import { createClaudeAdapter } from '../adapters/claude/index.ts'
import { createCodexAdapter } from '../adapters/codex/index.ts'
import { createOpenCodeAdapter } from '../adapters/opencode/index.ts'
import type { AgentAdapter } from '../core/agent-adapter.ts'
import { testAgentsFolder } from './agents-folder.ts'
import { claudeEnvironment } from './claude-environment.ts'
import { codexEnvironment } from './codex-environment.ts'
import { geminiEnvironment } from './gemini-environment.ts'
import type { ModelAnswer } from './model-server.ts'
import { opencodeEnvironment } from './opencode-environment.ts'

/** A real agent, and how its model would ask for a command. */
export type RealAgent = {
  readonly adapter: () => AgentAdapter
  readonly command: (line: string, id?: string) => ModelAnswer
}

export type RealAgentName = 'claude' | 'codex' | 'opencode' | 'gemini' | 'claude-acp'

/** Every agent that tests drive, with a home of its own, against one scripted model on loopback. */
export function realAgents({ url, home }: { url: string; home: string }): Record<RealAgentName, RealAgent> {
  const agentsFolder = testAgentsFolder()
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
      adapter: () => createClaudeAdapter({ env: claudeEnvironment(at('claude')) }),
      ...call('Bash', bash),
    },
    codex: {
      adapter: () => createCodexAdapter({ env: codexEnvironment(at('codex')), agentsFolder }),
      ...call('exec_command', (cmd) => ({ cmd })),
    },
    opencode: {
      adapter: () => createOpenCodeAdapter({ env: opencodeEnvironment(at('opencode')), agentsFolder }),
      ...call('bash', bash),
    },
    gemini: {
      adapter: () => createAcpAdapter(gemini, { env: geminiEnvironment(at('gemini')), agentsFolder }),
      ...call('run_shell_command', bash),
    },
    'claude-acp': {
      adapter: () => createAcpAdapter(claudeAcp, { env: claudeEnvironment(at('claude-acp')), agentsFolder }),
      ...call('Bash', bash),
    },
  }
}
