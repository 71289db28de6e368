import { messageOf } from '@parley/protocol'
import { type CaseChange, type CaseResult, compareCases, type Suite } from './cases.ts'
import type { AgentReport, Change } from './report.ts'
import { compareShapes, type Recording, shapesOf, union } from './shapes.ts'

/** An agent, and the release that this version of Parley is tested with. */
export type TestedAgent = { readonly id: string; readonly package: string; readonly version: string }

/** An installed release: the agents folder with it, and nothing else. */
export type Release = { readonly version: string; readonly agentsFolder: string }

export type Recorded = {
  /** The lines of each scenario that could be recorded. */
  readonly recording: Recording
  /** One case for each scenario; it fails if the scenario could not be recorded. */
  readonly cases: readonly CaseResult[]
  /** The folder with the recordings. */
  readonly folder: string
}

export type Again = { readonly recorded: Recorded; readonly scenarios: readonly string[] }

/** The steps of an examination that need the network, the programs of agents or much time. */
export type Steps = {
  /** The version that npm gives for a tag, or for a version. */
  resolve(agent: TestedAgent, wanted: string): Promise<string>
  /** The release that the tests use. Installs it if it is missing. */
  tested(agent: TestedAgent): Promise<Release>
  /** Installs another release in a folder of its own. */
  install(agent: TestedAgent, version: string): Promise<Release>
  /** Runs the contract suite with a release. */
  contract(agent: TestedAgent, release: Release): Promise<readonly CaseResult[]>
  /** The types of messages that a release declares. */
  declared(agent: TestedAgent, release: Release): Promise<readonly string[]>
  /** The recordings in the repository, on which the tests of the adapter run. */
  stored(agent: TestedAgent): Recording
  /** Records all scenarios of an agent with a release; with `again`, only these scenarios of an earlier recording. */
  record(agent: TestedAgent, release: Release, again?: Again): Promise<Recorded>
  /** Runs the tests of the adapter on recordings. */
  replay(agent: TestedAgent, recorded: Recorded): Promise<readonly CaseResult[]>
  readonly say: (line: string) => void
}

/**
 * Compares a release of an agent with the tested one. The tested release is examined only as far as the other release
 * shows differences, because each step takes minutes. Failures become the problem of the report.
 */
export async function examine(agent: TestedAgent, wanted: string, steps: Steps): Promise<AgentReport> {
  const about = { agent: agent.id, package: agent.package, tested: agent.version }
  let examined: string | undefined
  try {
    examined = await steps.resolve(agent, wanted)
    if (examined === agent.version) {
      steps.say(`${agent.id}: ${examined} is the tested version`)
      return { ...about, examined, status: 'same', changes: [] }
    }
    const release = await steps.install(agent, examined)
    const result = await compare(agent, release, steps)
    const status = result.changes.length > 0 ? 'drift' : 'no-drift'
    return { ...about, examined, status, ...result }
  } catch (thrown) {
    const problem = messageOf(thrown)
    steps.say(`${agent.id}: ${problem}`)
    return { ...about, ...(examined !== undefined && { examined }), status: 'failed', changes: [], problem }
  }
}

async function compare(agent: TestedAgent, release: Release, steps: Steps) {
  let tested: Promise<Release> | undefined
  const testedRelease = () => {
    tested ??= steps.tested(agent)
    return tested
  }
  const newly = async (
    suite: Suite,
    now: readonly CaseResult[],
    before: () => Promise<readonly CaseResult[]>,
  ) => (now.some(({ failure }) => failure !== undefined) ? compareCases(suite, await before(), now) : [])

  const declared = await steps.declared(agent, release)
  const changes: Change[] = compareDeclared(
    declared.length > 0 ? await steps.declared(agent, await testedRelease()) : [],
    declared,
  )
  const contract = await steps.contract(agent, release)
  changes.push(
    ...(await newly('contract', contract, async () => steps.contract(agent, await testedRelease()))),
  )
  const recorded = await steps.record(agent, release)
  let again: Promise<Recorded> | undefined
  const recordedAgain = async () => {
    again ??= steps.record(agent, await testedRelease())
    return again
  }
  changes.push(
    ...(await newly('recorder', recorded.cases, async () => (await recordedAgain()).cases)),
    ...(await messageChanges(steps.stored(agent), recorded, recordedAgain)),
  )
  const replayed = recorded.recording.size > 0 ? await steps.replay(agent, recorded) : []
  const failing = await newly('recordings', replayed, async () => steps.replay(agent, await recordedAgain()))
  changes.push(...(await failingTwice(failing, { agent, release, recorded, steps })))
  return { changes, cases: contract.length + replayed.length, scenarios: recorded.cases.length }
}

type Replayed = {
  readonly agent: TestedAgent
  readonly release: Release
  readonly recorded: Recorded
  readonly steps: Steps
}

/**
 * The cases that fail again after their scenarios were recorded once more: the order of messages depends on chance when
 * an agent does two things at a time. The contract suite repeats failing cases itself.
 */
async function failingTwice(
  failing: readonly CaseChange[],
  { agent, release, recorded, steps }: Replayed,
): Promise<CaseChange[]> {
  const named = (name: string) => failing.some((one) => one.name.split(/\s/).includes(name))
  const scenarios = [...recorded.recording.keys()].filter(named)
  if (scenarios.length === 0) return [...failing]
  const again = await steps.record(agent, release, { recorded, scenarios })
  const results = await steps.replay(agent, again)
  return failing.filter(({ name }) => results.some((one) => one.name === name && one.failure !== undefined))
}

function compareDeclared(before: readonly string[], after: readonly string[]): Change[] {
  const missingIn = (names: readonly string[], others: readonly string[]) =>
    [...new Set(names)].filter((name) => !others.includes(name)).toSorted()
  return [
    ...missingIn(before, after).map((type) => ({ kind: 'type-undeclared', type }) as const),
    ...missingIn(after, before).map((type) => ({ kind: 'type-declared', type }) as const),
  ]
}

/**
 * The recordings in the repository may be older than the tested release, and some messages depend on the machine and on
 * chance. So if the new release differs from them, the tested release is recorded here too. A message or a field is new
 * if none of these recordings contains it. It has vanished if the tested release still sends it.
 */
async function messageChanges(
  stored: Recording,
  { recording }: Recorded,
  recordedAgain: () => Promise<Recorded>,
): Promise<Change[]> {
  const scenarios = (of: Recording) => new Map([...of].filter(([name]) => recording.has(name)))
  const [before, after] = [shapesOf(scenarios(stored)), shapesOf(recording)]
  if (compareShapes(before, after).length === 0) return []
  const tested = shapesOf(scenarios((await recordedAgain()).recording))
  const isGone = ({ kind }: { kind: string }) => kind.endsWith('-vanished')
  return [
    ...compareShapes(tested, after).filter(isGone),
    ...compareShapes(union(before, tested), after).filter((change) => !isGone(change)),
  ]
}
