import type { AgentAdapter, ConnectInput } from '@parley/adapter-kit'
import { expectFolder } from '@parley/adapter-kit/program-adapter'
import {
  type AgentCommand,
  type AgentModel,
  type Capabilities,
  type CapabilityName,
  capabilities,
  capabilityNames,
  ParleyError,
  PermissionMode,
} from '@parley/protocol'
import type { ConnectionDeps, ScriptContext } from './connection.ts'
import { createGates, type Gates, realSleep, type Sleep } from './gates.ts'
import { type Script, scriptInPrompt } from './script.ts'
import { honouredOptions } from './settings.ts'
import { memoryTranscript, type Transcript } from './transcript.ts'

export type ScriptedAdapterOptions = {
  readonly id?: string
  readonly name?: string
  readonly description?: string
  /**
   * Selects the script of a turn. Without it, a prompt that is a script in JSON is played, and any other prompt is
   * echoed.
   */
  readonly script?: (text: string, context: ScriptContext) => Script
  /** Loads the script and the commands when a session first needs them. They replace `script` and `commands`. */
  readonly load?: () => Promise<Pick<ConnectionDeps, 'script' | 'commands'>>
  readonly capabilities?: Capabilities
  readonly modes?: readonly PermissionMode[]
  readonly models?: readonly AgentModel[]
  readonly commands?: readonly AgentCommand[]
  /** The gates for steps of type `wait`. */
  readonly gates?: Gates
  /**
   * The gate at which a steered prompt waits until the agent accepts it. Without a gate, the agent accepts the prompt
   * at once.
   */
  readonly steerGate?: (words: string) => string | undefined
  readonly sleep?: Sleep
  /** The delay between the pieces of a stream; 0 by default. */
  readonly pieceDelayMs?: number
  /** The storage of the agent's conversations. By default, it is in memory and exists as long as the adapter. */
  readonly transcript?: Transcript
  /** Makes `connect` fail, like an agent that is not installed or not signed in. */
  readonly refuse?: (input: ConnectInput) => ParleyError | undefined
}

/** Capabilities that need a real agent or the agent's own files. */
const missing: readonly CapabilityName[] = ['background', 'mcp', 'environment', 'rejoin']
export const scriptedCapabilities: readonly CapabilityName[] = capabilityNames.filter(
  (name) => !missing.includes(name),
)

const efforts = ['low', 'medium', 'high']
export const scriptedModels: readonly AgentModel[] = [
  { id: 'scripted-large', name: 'Scripted Large', contextWindow: 200_000, efforts, isDefault: true },
  { id: 'scripted-small', name: 'Scripted Small', contextWindow: 32_000, efforts },
]

const version = '1.0.0'

/** An agent that plays scripts, for tests and demonstrations. It uses no process and no network. */
export function createScriptedAdapter(options: ScriptedAdapterOptions = {}): AgentAdapter {
  const { id = 'scripted', name = 'Scripted', description, modes = PermissionMode.options, refuse } = options
  const { models = scriptedModels, capabilities: can = capabilities(...scriptedCapabilities) } = options
  const deps = {
    script: options.script ?? scriptInPrompt,
    models,
    modes,
    commands: options.commands ?? [{ name: 'compact', description: 'Shorten the conversation' }],
    version,
    transcript: options.transcript ?? memoryTranscript(),
    gates: options.gates ?? createGates(),
    steerGate: options.steerGate ?? (() => undefined),
    sleep: options.sleep ?? realSleep,
    pieceDelayMs: options.pieceDelayMs ?? 0,
  }
  return {
    id,
    name,
    ...(description !== undefined && { description }),
    capabilities: can,
    modes,
    options: honouredOptions(can),
    probe: async () => ({ found: true, version, signedIn: true, models: [...models] }),
    async connect(input) {
      const problem = refuse?.(input)
      if (problem) throw problem
      if (input.signal.aborted) throw new ParleyError('cancelled', 'The connection was cancelled.')
      expectFolder(input.cwd)
      const { ScriptedConnection } = await import('./connection.ts')
      return new ScriptedConnection({ ...deps, ...(await options.load?.()) }, input)
    },
  }
}
