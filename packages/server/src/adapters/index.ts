import type { AgentAdapter } from '../core/agent-adapter.ts'
import { type AgentSettings, configured, pathSettings } from './agent-settings.ts'
import { createClaudeAdapter } from './claude/index.ts'
import type { Environment } from './environment.ts'
import { createDemoAdapter, type DemoOptions } from './scripted/demo.ts'

export type BuiltInAdapterOptions = {
  /** The environment of this process: agents get what they need of it, and nothing else. */
  readonly env?: Environment
  /** Where Parley installs agents. */
  readonly agentsFolder?: string
  /** What the configuration says of each, by id. One with an executable that is no built-in's is an ACP agent. */
  readonly agents?: Readonly<Record<string, AgentSettings>>
  readonly demo?: DemoOptions
}

/**
 * Every agent Parley knows, in the order it is offered. The only list there is. To add one:
 * 1. make its folder beside this file, with `index.ts` exporting `createXAdapter`;
 * 2. begin its test with `adapterContract(...)` from `testing/adapter-contract.ts`: what it declares, it must show;
 * 3. add it here. To remove one, undo the three.
 */
export function builtInAdapters(options: BuiltInAdapterOptions = {}): AgentAdapter[] {
  const { env = {}, agents = {} } = options
  const adapters = [
    createClaudeAdapter({ env, ...pathSettings('claude', agents.claude, env) }),
    createDemoAdapter(options.demo),
  ]
  return configured(adapters, agents)
}
