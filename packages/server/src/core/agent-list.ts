import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type AdapterFailure,
  type AgentInfo,
  type AgentOption,
  type AgentProbe,
  defined,
  type ErrorInfo,
  errorInfoOf,
  type Installing,
  optionDetails,
  ParleyError,
} from '@parley/protocol'
import { type AgentKeeper, type AgentKeeping, createAgentKeeping } from './agent-keeper.ts'
import { type Clock, withTimeLimit } from './clock.ts'
import { countByAgent } from './host-observer.ts'

/** Installs and removes agents on this machine. The implementation is outside core. */
export type AgentInstaller = {
  installed(agent: string): string | undefined
  /**
   * Installs an agent. If that fails, rejects with a ParleyError and leaves the previous installation
   * unchanged.
   */
  install(agent: string, progress: (line: string) => void, signal: AbortSignal): Promise<void>
  /** Removes the installed version. Returns false if this installer had not installed the agent. */
  remove(agent: string): Promise<boolean>
}

export type AgentList = {
  agents(): Promise<AgentInfo[]>
  /** The configured adapters that were not loaded when this host was created. */
  adapterFailures(): Promise<readonly AdapterFailure[]>
  /**
   * Starts the installation of the version that is known to work; `agents` reports the progress. Returns the running
   * installation if there is one.
   */
  installAgent(agent: string): Promise<Installing>
  /** Stops a running installation; otherwise removes the installed version. */
  removeAgent(agent: string): Promise<void>
} & AgentKeeping

export type AgentListOptions = {
  /**
   * The adapters by agent id. With a keeper, this map changes when a person adds, removes or configures an
   * agent.
   */
  readonly adapters: Map<string, AgentAdapter>
  readonly failures?: readonly AdapterFailure[] | undefined
  readonly installer: AgentInstaller | undefined
  readonly keeper: AgentKeeper | undefined
  /** Called when an agent was changed, so that the caller closes its idle processes. */
  readonly changed: () => void
  readonly clock: Clock
}

type Running = { state: Installing; readonly stop: AbortController; readonly ended: Promise<void> }

const probeMs = 10_000

/** The agents of a host as clients see them: the probe result of each, and its installation. */
export function createAgentList(options: AgentListOptions) {
  const { adapters, installer, keeper, changed, clock, failures: notLoaded = [] } = options
  const running = new Map<string, Running>()
  const failures = new Map<string, ErrorInfo>()
  const unrecognised = countByAgent()

  function adapterFor(agent: string): AgentAdapter {
    const adapter = adapters.get(agent)
    if (adapter) return adapter
    throw unknownAgent(agent, [...adapters.keys()], { failed: notLoaded.length })
  }

  function installerFor(agent: string): AgentInstaller {
    const { name, install } = adapterFor(agent)
    if (install && installer) return installer
    const why = install ? 'this server does not install agents' : 'Parley does not install this agent'
    throw new ParleyError('not_supported', `${name} cannot be installed here: ${why}.`)
  }

  function start(agent: string, by: AgentInstaller): Running {
    const stop = new AbortController()
    failures.delete(agent)
    const say = (line: string) => {
      one.state = { ...one.state, line }
    }
    const ended = by
      .install(agent, say, stop.signal)
      .then(() => unrecognised.forget(agent))
      .catch((thrown) => {
        if (!stop.signal.aborted) failures.set(agent, errorInfoOf(thrown))
      })
      .finally(() => running.delete(agent))
    const one: Running = { state: { since: clock.now(), line: 'starting' }, stop, ended }
    running.set(agent, one)
    return one
  }

  function stateOf({ id, install }: AgentAdapter): Partial<AgentInfo> {
    const installed = installer?.installed(id)
    const installing = running.get(id)?.state
    const installError = failures.get(id)
    return {
      ...(install && {
        install: { package: install.package, version: install.version, ...defined({ installed }) },
      }),
      ...defined({ installing, installError, unrecognised: unrecognised.of(id) }),
    }
  }

  const described = async (adapter: AgentAdapter): Promise<AgentInfo> => ({
    ...(await infoOf(adapter, clock)),
    ...stateOf(adapter),
    ...keeper?.stateOf(adapter.id),
  })

  const list: AgentList = {
    ...createAgentKeeping({ adapters, keeper, adapterFor, described, changed }),
    agents: async () => Promise.all([...adapters.values()].map(described)),
    adapterFailures: async () => notLoaded,
    async installAgent(agent) {
      const by = installerFor(agent)
      return (running.get(agent) ?? start(agent, by)).state
    },
    async removeAgent(agent) {
      const by = installerFor(agent)
      failures.delete(agent)
      const one = running.get(agent)
      one?.stop.abort()
      await one?.ended
      if (one || (await by.remove(agent))) return
      throw new ParleyError('not_found', `Parley has not installed ${agent}, so it cannot remove this agent.`)
    },
  }
  return {
    list,
    adapterFor,
    observer: unrecognised.observer,
    close: () => stopAll([...running.values()]),
  }
}

async function stopAll(installations: readonly Running[]): Promise<void> {
  for (const { stop } of installations) stop.abort()
  await Promise.all(installations.map(({ ended }) => ended))
}

/**
 * The error for an unknown agent. Unlike the error for a missing program, it has `details.agents`. `failed` is the
 * number of adapters that were not loaded: one of them may be the adapter of this agent.
 */
export function unknownAgent(
  agent: string,
  known: readonly string[],
  { failed = 0, isDisabled = false }: { failed?: number; isDisabled?: boolean } = {},
): ParleyError {
  const why = isDisabled ? 'It is disabled in config.json.' : `Known agents: ${known.join(', ')}.`
  const more = failed > 0 ? ' An adapter of config.json was not loaded; "parley agents" shows why.' : ''
  const details = { agent, agents: known }
  return new ParleyError('agent_not_found', `There is no agent "${agent}". ${why}${more}`, { details })
}

/** The options of an agent. All agents have `tools`, because it is an option of the host itself. */
function optionsOf(adapter: AgentAdapter, { models = [] }: AgentProbe): AgentOption[] {
  const { options = [], restartsFor = [], fixedOptions = [] } = adapter
  const efforts = [...new Set(models.flatMap((model) => model.efforts ?? []))]
  return (['tools', ...options] as const).map((name) => ({
    name,
    ...optionDetails[name],
    ...(name === 'effort' && efforts.length > 0 && { values: efforts }),
    takesEffect: fixedOptions.includes(name)
      ? 'new-session'
      : restartsFor.includes(name) || name === 'hostToolsOnly'
        ? 'next-start'
        : 'at-once',
  }))
}

async function infoOf(adapter: AgentAdapter, clock: Clock): Promise<AgentInfo> {
  const { id, name, description, capabilities, modes } = adapter
  const hint = `The probe failed; for details, run "parley agents doctor ${id}".`
  const probing = withTimeLimit(clock, probeMs, (signal) => adapter.probe(signal))
  const probe = await probing.catch((): AgentProbe => ({ found: false, hint }))
  return {
    id,
    name,
    ...(description && { description }),
    capabilities,
    modes: [...modes],
    options: optionsOf(adapter, probe),
    ...(adapter.keys && { keys: [...adapter.keys] }),
    ...(adapter.conversations && { conversations: true }),
    ...probe,
  }
}
