import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput, recordedProgram } from '@parley/adapter-kit/testing'
import {
  claudeAcp,
  codexAcp,
  createAcpAdapter,
  gemini as geminiAgent,
  opencodeAcp,
  qwen as qwenAgent,
} from '../src/adapters/acp/index.ts'
import { testAgentsFolder } from '../src/testing/agents-folder.ts'
import { claudeEnvironment } from '../src/testing/claude-environment.ts'
import { codexEnvironment } from '../src/testing/codex-environment.ts'
import { geminiEnvironment } from '../src/testing/gemini-environment.ts'
import { opencodeEnvironment } from '../src/testing/opencode-environment.ts'
import { qwenEnvironment } from '../src/testing/qwen-environment.ts'
import { claude } from './acp/claude.ts'
import { gemini } from './acp/gemini.ts'
import { normalised } from './acp/normalise.ts'
import { codex, opencode, qwen } from './acp/others.ts'
import type { Scenario, Stage } from './acp/stage.ts'
import { inTime, recordFixtures } from './recorder.ts'

const agents = {
  gemini: { preset: geminiAgent, environment: geminiEnvironment, args: ['--acp'] },
  'claude-acp': { preset: claudeAcp, environment: claudeEnvironment, args: [] },
  'codex-acp': { preset: codexAcp, environment: codexEnvironment, args: [] },
  'opencode-acp': { preset: opencodeAcp, environment: opencodeEnvironment, args: ['acp'] },
  qwen: { preset: qwenAgent, environment: qwenEnvironment, args: ['--acp'] },
}
/** An agent that has no installation of its own uses that of another agent. */
const installations: Partial<Record<keyof typeof agents, string>> = { 'opencode-acp': 'opencode' }

const scenarios = { gemini, 'claude-acp': claude, 'codex-acp': codex, 'opencode-acp': opencode, qwen }
const agentOf = (name: string) =>
  (Object.keys(agents) as (keyof typeof agents)[]).find((id) => name in scenarios[id]) ?? 'claude-acp'

/**
 * Records the messages that Parley and real ACP agents exchange in each scenario, one per line, without names or paths
 * of this machine. `node --conditions=source packages/server/scripts/record-acp-fixtures.ts [name…]`
 */
await recordFixtures<Scenario>({
  adapter: 'acp',
  scenarios: { ...gemini, ...claude, ...codex, ...opencode, ...qwen },
  agentOf,
  async record(scenario, { path, cwd, home, server }, name) {
    const id = agentOf(name)
    const { preset, environment, args } = agents[id]
    const file = join(path, 'frames.jsonl')
    const folders = [id, installations[id] ?? id].map((folder) => join(testAgentsFolder(), folder))
    const folder = folders.find((one) => existsSync(one)) ?? ''
    const program = join(folder, 'node_modules', '.bin', preset.command)
    const { command, args: teeArgs } = recordedProgram(file, { command: program, args })
    const adapter = createAcpAdapter(preset, {
      env: environment({ url: server.url, home }),
      ...(scenario.env && { add: scenario.env }),
      executable: command,
      args: teeArgs,
    })
    const connect: Stage['connect'] = (changes) => {
      rmSync(file, { force: true })
      return adapter.connect(connectInput({ connectionId: 'con_recorded', cwd, ...changes }))
    }
    await inTime(name, scenario.play({ server, cwd, connect }))
    return normalised(readFileSync(file, 'utf8').trim().split('\n'), path)
  },
})
