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
 * capability must be demonstrated; one that is not declared is reported as not supported, and commands that need it
 * must be refused. A general case that is not possible with an agent (its scenario gives the reason) is not run here:
 * the adapter tests it in another way.
 */
export function adapterContract(name: string, setup: ContractSetup): void {
  const { timeoutMs = 30_000, scenarios } = setup
  describe(`${name} keeps the contract of an adapter`, { timeout: timeoutMs }, () => {
    let world: ContractWorld
    beforeAll(async () => {
      world = await setup.start()
    }, timeoutMs)
    afterAll(async () => world.stop?.(), timeoutMs)

    for (const { title, notPossible, adapter, shows } of generalCases) {
      if (notPossible?.(setup) !== undefined) continue
      it(title, () => {
        const tested = adapter?.(setup, world) ?? world.adapter()
        return onBench(world, tested, (bench) => shows(bench, setup))
      })
    }

    for (const capability of capabilityNames) {
      const verdict = verdictOn(capability, setup.capabilities, scenarios)
      it(`${capability}: ${titles[verdict](capability)}`, async () => {
        if (verdict === 'no-case' || verdict === 'no-scenario') throw new Error(titles[verdict](capability))
        const work = verdict === 'shown' ? expectShown : expectRefused
        await onBench(world, world.adapter(), (bench) => work(capability, bench, scenarios))
      })
      if (verdict !== 'shown') continue
      for (const { title, shows, needs } of capabilityCases[capability].more ?? []) {
        if (needs?.(scenarios[capability] as never, scenarios) === false) continue
        it(`${capability}: ${title}`, () =>
          onBench(world, world.adapter(), (bench) => shows(bench, scenarios[capability] as never, scenarios)))
      }
    }
  })
}

export type Verdict = 'shown' | 'not-supported' | 'no-scenario' | 'no-case'

/** The verdict of the suite on a capability. The last two are failures. */
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

/** Rejects if the agent does not do what the capability says. */
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
