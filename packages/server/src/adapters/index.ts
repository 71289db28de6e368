import type { AgentAdapter } from '@parley/adapter-kit'
import type { ParleyCommand } from '@parley/adapter-kit/advice'
import type { Environment } from '@parley/adapter-kit/environment'
import { acpAgents, createAcpAdapter } from './acp/index.ts'
import {
  type AgentSettings,
  claudeSettings,
  configured,
  pathSettings,
  programSettings,
} from './agent-settings.ts'
import { createClaudeAdapter } from './claude/index.ts'
import { createCodexAdapter } from './codex/index.ts'
import { createOpenCodeAdapter } from './opencode/index.ts'
import { createDemoAdapter, type DemoOptions } from './scripted/demo.ts'

export type BuiltInAdapterOptions = {
  /** The environment of this process. Agents receive only the variables that they need. */
  readonly env?: Environment
  readonly agentsFolder?: string
  /** Formats a command of Parley's own program for advice to people. By default, the program is called `parley`. */
  readonly parley?: ParleyCommand
  /** Configuration by agent id. An id that is not built in and has an executable is an ACP agent. */
  readonly agents?: Readonly<Record<string, AgentSettings>>
  /** True for the id of an agent that is not built in, which `agents` may configure. */
  readonly isElsewhere?: (id: string) => boolean
  readonly demo?: DemoOptions
}

/**
 * All built-in agents, in the order of presentation. This is the only list. To add an agent:
 * 1. create its folder beside this file, with an `index.ts` that exports `createXAdapter`;
 * 2. begin its test with `adapterContract(...)` from `testing/adapter-contract.ts`, which tests every capability that
 *  the adapter declares;
 * 3. add it here. To remove an agent, undo the three steps.
 */
export function builtInAdapters(options: BuiltInAdapterOptions = {}): AgentAdapter[] {
  const { env = {}, agents = {} } = options
  const { agentsFolder, parley } = options
  const given = { env, ...(agentsFolder !== undefined && { agentsFolder }), ...(parley && { parley }) }
  const adapters = [
    createClaudeAdapter({
      ...given,
      ...claudeSettings(agents.claude),
      ...pathSettings('claude', agents.claude, env),
    }),
    createCodexAdapter({ ...given, ...pathSettings('codex', agents.codex, env) }),
    createOpenCodeAdapter({ ...given, ...pathSettings('opencode', agents.opencode, env) }),
    ...acpAgents.map((agent) => createAcpAdapter(agent, { ...given, ...programSettings(agents[agent.id]) })),
    createDemoAdapter(options.demo),
  ]
  const known = new Set(adapters.map(({ id }) => id))
  const own = Object.entries(agents).filter(
    ([id, { executable }]) => !known.has(id) && executable !== undefined,
  )
  const more = own.map(([id, settings]) =>
    createAcpAdapter(
      { id, name: settings.name ?? id, command: settings.executable ?? id },
      { ...given, ...programSettings(settings) },
    ),
  )
  return configured([...adapters, ...more], agents, options.isElsewhere)
}
