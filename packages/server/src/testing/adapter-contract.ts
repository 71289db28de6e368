import type { AgentAdapter } from '@parley/adapter-kit'
import { type Capabilities, type CapabilityName, capabilityNames } from '@parley/protocol'
import { type Bench, onBench } from './adapter-contract/bench.ts'
import {
  type CapabilityCase,
  type CapabilityCases,
  nothingToRefuse,
} from './adapter-contract/capability-case.ts'
import { capabilityCases } from './adapter-contract/capability-cases.ts'
import { generalCases } from './adapter-contract/general-cases.ts'
import type {
  CapabilityScenarios,
  ContractSetup,
  ContractWorld,
  Scenarios,
} from './adapter-contract/setup.ts'
import { SharedBench } from './adapter-contract/shared-bench.ts'

export type {
  BackgroundScenario,
  CapabilityScenarios,
  ContractSetup,
  ContractWorld,
  FileEffect,
  GeneralScenarios,
  Memory,
  NotPossible,
  Saying,
  Scenario,
  Scenarios,
  Words,
} from './adapter-contract/setup.ts'

import { afterAll, beforeAll, describe, expect, it } from './peers.ts'

/**
 * Tests every rule of the port `AgentAdapter` on a real host, for any agent. Each capability has a case. A declared
 * capability must be demonstrated. An undeclared capability is reported as not supported, and commands that need it
 * must be refused. A general case that is not possible with an agent (its scenario gives the reason) is not run here;
 * the adapter tests it in another way.
 */
export function adapterContract(name: string, setup: ContractSetup): void {
  const { timeoutMs = 30_000 } = setup
  describe(`${name} satisfies the contract of an adapter`, { timeout: timeoutMs }, () => {
    let world: ContractWorld
    beforeAll(async () => {
      world = await setup.start()
    }, timeoutMs)
    afterAll(async () => world.stop?.(), timeoutMs)

    const runs = runsOf(setup)
    for (const { title, adapter, work } of runs.filter(({ shared }) => !shared))
      it(title, () => onBench(world, adapter?.(world) ?? world.adapter(), work))

    describe('in shared sessions', () => {
      let bench: SharedBench
      beforeAll(async () => {
        bench = await SharedBench.open(world)
      }, timeoutMs)
      afterAll(async () => {
        await bench.expectValidLogs()
        await bench[Symbol.asyncDispose]()
      }, timeoutMs)
      for (const order of [true, 'last'] as const)
        for (const { title, work } of runs.filter(({ shared }) => shared === order))
          it(title, () => bench.run(work))
    })
  })
}

type Run = {
  readonly title: string
  readonly shared: true | 'last' | undefined
  readonly adapter?: (world: ContractWorld) => AgentAdapter
  work(bench: Bench): Promise<void>
}

function runsOf(setup: ContractSetup): Run[] {
  const general = generalCases
    .filter(({ notPossible }) => notPossible?.(setup) === undefined)
    .map(({ title, shared, adapter, shows }) => ({
      title,
      shared,
      ...(adapter && { adapter: (world: ContractWorld) => adapter(setup, world) }),
      work: (bench: Bench) => shows(bench, setup),
    }))
  return [...general, ...capabilityNames.flatMap((capability) => runsOfCapability(capability, setup))]
}

function runsOfCapability(capability: CapabilityName, { capabilities, scenarios }: ContractSetup): Run[] {
  const verdict = verdictOn(capability, capabilities, scenarios)
  const title = `${capability}: ${titles[verdict](capability)}`
  if (verdict === 'no-case' || verdict === 'no-scenario')
    return [{ title, shared: undefined, work: () => Promise.reject(new Error(title)) }]
  const { more = [], shared } = capabilityCases[capability]
  if (verdict === 'not-supported')
    return [{ title, shared, work: (bench) => expectRefused(capability, bench, scenarios) }]
  const scenario = scenarios[capability] as never
  return [
    { title, shared, work: (bench) => expectShown(capability, bench, scenarios) },
    ...more
      .filter(({ needs }) => needs?.(scenario, scenarios) !== false)
      .map(({ title: what, shows, ...one }) => ({
        title: `${capability}: ${what}`,
        shared: one.shared,
        work: (bench: Bench) => shows(bench, scenario, scenarios),
      })),
  ]
}

export type Verdict = 'shown' | 'not-supported' | 'no-scenario' | 'no-case'

/** The verdict of the suite on a capability. `no-scenario` and `no-case` are failures. */
export function verdictOn(
  capability: CapabilityName,
  declared: Capabilities,
  scenarios: Partial<Scenarios>,
  cases: Partial<CapabilityCases> = capabilityCases,
): Verdict {
  if (!cases[capability]) return 'no-case'
  if (!declared[capability]) return 'not-supported'
  return scenarios[capability] ? 'shown' : 'no-scenario'
}

const titles: Record<Verdict, (capability: CapabilityName) => string> = {
  shown: (capability) => capabilityCases[capability].title,
  'not-supported': () => 'not supported',
  'no-scenario': () => 'declared, but the setup has no scenario that shows it',
  'no-case': () => 'the contract has no case for it: add one to capability-cases.ts',
}

/** Rejects if the agent does not demonstrate the capability. */
export async function expectShown<Name extends CapabilityName>(
  name: Name,
  bench: Bench,
  scenarios: Scenarios,
): Promise<void> {
  const shown: CapabilityCase<Name> = capabilityCases[name]
  await shown.shows(bench, scenarios[name] as CapabilityScenarios[Name], scenarios)
}

async function expectRefused(name: CapabilityName, bench: Bench, scenarios: Scenarios): Promise<void> {
  expect(bench.newAdapter().capabilities[name]).toBe(false)
  const { refused } = capabilityCases[name]
  const refusal = refused ? await refused(bench, scenarios) : nothingToRefuse
  if (refusal !== nothingToRefuse) expect(refusal).toMatchObject({ code: 'not_supported' })
}
