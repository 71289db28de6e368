import { statSync } from 'node:fs'
import { type AgentProbe, type CapabilityName, ParleyError } from '@parley/protocol'
import type { ParleyCommand } from './advice.ts'
import type { AgentAdapter, AgentMemory } from './agent-adapter.ts'
import type { Environment } from './environment.ts'

/** The code that the adapters of all agent programs share: finding the program, refusing and probing. */

/** The capabilities that Claude Code, Codex and OpenCode share. Each adapter adds its own capabilities. */
export const commonCapabilities = [
  'streaming',
  'thinking',
  'permissions',
  'questions',
  'plan',
  'subagents',
  'images',
  'files',
  'resume',
  'fork',
  'interrupt',
  'steer',
  'models',
  'effort',
  'modes',
  'mcp',
  'commands',
  'compaction',
  'usage',
  'environment',
] as const satisfies readonly CapabilityName[]

export type ProgramAdapterOptions = {
  /** The environment of this process. The agent receives only the variables that it needs. */
  readonly env: Environment
  readonly add?: Readonly<Record<string, string>>
  /** Replaces the default program: an absolute path, or a name on the PATH. */
  readonly executable?: string
  readonly agentsFolder?: string
  /** Formats a command of Parley's own program, for advice. */
  readonly parley?: ParleyCommand
}

export type AgentProgram = {
  /** Searches on every call: a program that is installed later is found without a restart. */
  find(): string | undefined
  /** The path of the program. Throws if it is missing. */
  expectFound(): string
  refusal(): ParleyError | undefined
  /**
   * Probes with `ask` if the program is found. With `reuseMs`, a result that reports a signed-in agent is reused for
   * that time.
   */
  probe(
    ask: (path: string, signal: AbortSignal) => Promise<AgentProbe>,
    reuseMs?: number,
  ): AgentAdapter['probe']
}

/**
 * Creates the part of an adapter that finds and probes the agent's program. If the program is missing, the error names
 * it with `name` and gives `hint` as advice.
 */
export function createAgentProgram({
  name,
  find,
  hint,
}: {
  readonly name: string | (() => string)
  readonly find: () => string | undefined
  readonly hint: string | (() => string)
}): AgentProgram {
  const text = (value: string | (() => string)) => (typeof value === 'string' ? value : value())
  const missing = () => new ParleyError('agent_not_found', `${text(name)} was not found. ${text(hint)}`)
  return {
    find,
    expectFound() {
      const path = find()
      if (path === undefined) throw missing()
      return path
    },
    refusal: () => (find() === undefined ? missing() : undefined),
    probe(ask, reuseMs = 0) {
      let last: { readonly probe: AgentProbe; readonly at: number } | undefined
      return async (signal) => {
        const path = find()
        if (path === undefined) return { found: false, hint: text(hint) }
        if (last?.probe.path === path && Date.now() - last.at < reuseMs) return last.probe
        const probe = await ask(path, signal)
        last = probe.signedIn ? { probe, at: Date.now() } : undefined
        return probe
      }
    },
  }
}

/** An agent's memory whose code is loaded on first use, so that the server starts without loading it. */
export function lazyMemory(load: () => Promise<AgentMemory>, idOf?: AgentMemory['idOf']): AgentMemory {
  return {
    list: async (query, signal) => (await load()).list(query, signal),
    async *read(agentSessionId, signal) {
      yield* (await load()).read(agentSessionId, signal)
    },
    ...(idOf && { idOf }),
  }
}

/** Throws if the session's folder does not exist: it may have been removed since the session was created. */
export function expectFolder(cwd: string): void {
  if (isFolder(cwd)) return
  const message = `The folder ${cwd} does not exist. Restore it, or start a session in another folder.`
  throw new ParleyError('validation_error', message, { details: { cwd } })
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
