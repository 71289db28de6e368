import type { AgentAdapter } from '@parley/adapter-kit'
import { defined, type SessionState } from '@parley/protocol'
import { need } from './decision.ts'
import { createEnvironments } from './environment.ts'
import { createFolderTrust } from './folder-trust.ts'
import type { HostOptions } from './host-options.ts'
import { createRuleBook } from './rule-book.ts'
import type { SettingsCopy } from './stored-list.ts'

/** The settings of a host for more than one session: trusted folders, variables and rules. */
export async function createHostSettings(
  options: HostOptions,
  parts: {
    readonly adapters: () => Iterable<AgentAdapter>
    readonly adapterFor: (agent: string) => AgentAdapter
    /** Rejects for an unknown session. */
    readonly stateOf: (sessionId: string) => Promise<SessionState>
    readonly trustChanged: () => void
    readonly environmentChanged: () => void
  },
) {
  const { store, clock, ids, checkFolder, projectOf, shared } = options
  const { adapters, adapterFor, stateOf, trustChanged } = parts
  const common = { store, checkFolder, shared, place: options.ownership?.place }
  const copies = Promise.withResolvers<SettingsCopy[]>()
  shared?.onChanged(async () => {
    await Promise.all((await copies.promise).map((copy) => copy.reload()))
    trustChanged()
  })
  const trust = await createFolderTrust({ ...common, clock, changed: trustChanged })
  const environments = await createEnvironments({
    ...common,
    adapters,
    changed: parts.environmentChanged,
    expectSession: async (id) => need({ agent: adapterFor((await stateOf(id)).agent) }, 'environment'),
  })
  const rules = await createRuleBook({
    ...common,
    ...defined({ projectOf }),
    clock,
    ids,
    expectSession: stateOf,
  })
  copies.resolve([trust, environments, rules])
  return { trust, environments, rules }
}
