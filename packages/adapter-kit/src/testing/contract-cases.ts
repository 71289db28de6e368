import { type Capabilities, type CapabilityName, capabilityNames } from '@parley/protocol'
import type { AgentAdapter } from '../agent-adapter.ts'
import type { Bench } from './contract/bench.ts'
import { type CapabilityCase, type CapabilityCases, nothingToRefuse } from './contract/capability-case.ts'
import { capabilityCases } from './contract/capability-cases.ts'
import { generalCases } from './contract/general-cases.ts'
import type { CapabilityScenarios, ContractSetup, ContractWorld, Scenarios } from './contract/setup.ts'
import { Broken, expect } from './expect.ts'
import { generalRules, type RuleName, readAbout, ruleOf } from './rules.ts'

/** One case of the contract suite. */
export type ContractCase = {
  readonly title: string
  readonly rule: RuleName
  /** The rule in a sentence. */
  readonly says: string
  /** Where the rule is explained. */
  readonly read: string
  /** The case can run in a session that earlier cases have used; `last` if it changes the settings of the session. */
  readonly shared?: true | 'last' | undefined
  /** The adapter to test, if it is not the agent's own. */
  readonly adapter?: (world: ContractWorld) => AgentAdapter
  run(bench: Bench): Promise<void>
}

/** The cases that an agent with this setup must pass. */
export function contractCases(setup: ContractSetup): ContractCase[] {
  const general = generalCases
    .filter(({ notPossible }) => notPossible?.(setup) === undefined)
    .map(({ title, rule, shared, adapter, shows }) => ({
      ...{ title, rule, shared, says: generalRules[rule], read: readAbout(rule) },
      ...(adapter && { adapter: (world: ContractWorld) => adapter(setup, world) }),
      run: (bench: Bench) => shows(bench, setup),
    }))
  return [...general, ...capabilityNames.flatMap((capability) => casesOf(capability, setup))]
}

function casesOf(capability: CapabilityName, { capabilities, scenarios }: ContractSetup): ContractCase[] {
  const verdict = verdictOn(capability, capabilities, scenarios)
  const { title, more = [], shared } = capabilityCases[capability]
  const declared = 'declared-capabilities' as const
  const about = (rule: RuleName, says: string) => ({ rule, says, read: readAbout(rule) })
  if (verdict !== 'shown') {
    const one = { title: `${capability}: ${titles[verdict]}`, ...about(declared, generalRules[declared]) }
    if (verdict === 'not-supported')
      return [{ ...one, shared, run: (bench) => expectRefused(capability, bench, scenarios) }]
    return [{ ...one, run: () => Promise.reject(new Broken(`${capability} is ${titles[verdict]}`)) }]
  }
  const rule = ruleOf(capability)
  const scenario = scenarios[capability] as never
  const needed = more.filter(({ needs }) => needs?.(scenario, scenarios) !== false)
  return [
    {
      ...{ title: `${capability}: ${title}`, ...about(rule, title), shared },
      run: (bench) => expectShown(capability, bench, scenarios),
    },
    ...needed.map((one) => ({
      ...{ title: `${capability}: ${one.title}`, ...about(rule, one.title), shared: one.shared },
      run: (bench: Bench) => one.shows(bench, scenario, scenarios),
    })),
  ]
}

/** A rule in a sentence. */
export function sentenceOf(rule: RuleName): string {
  const general = (generalRules as Partial<Record<RuleName, string>>)[rule]
  const capability = capabilityNames.find((name) => ruleOf(name) === rule)
  return general ?? (capability ? capabilityCases[capability].title : rule)
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

const titles: Record<Exclude<Verdict, 'shown'>, string> = {
  'not-supported': 'not supported',
  'no-scenario': 'declared, but the setup has no scenario that shows it',
  'no-case': 'without a case in the contract: add one to capability-cases.ts',
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
  expect(bench.newAdapter().capabilities[name], `the capability ${name} of the adapter`).toBe(false)
  const { refused } = capabilityCases[name]
  const refusal = refused ? await refused(bench, scenarios) : nothingToRefuse
  if (refusal !== nothingToRefuse)
    expect(refusal, 'the refusal of a command').toMatchObject({ code: 'not_supported' })
}
