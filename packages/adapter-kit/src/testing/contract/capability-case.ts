import type { CapabilityName, CommandInput, SessionEvent } from '@parley/protocol'
import { expect } from '../expect.ts'
import type { Bench, BenchSession, Turn } from './bench.ts'
import type { CapabilityScenarios, Scenario, Scenarios } from './setup.ts'

/**
 * The demonstration of a capability and, if a command needs the capability, the refusal of that command when the
 * capability is not declared.
 */
export type CapabilityCase<Name extends CapabilityName> = {
  readonly title: string
  /** The case can run in a session that earlier cases have used; `last` if it changes the settings of the session. */
  readonly shared?: true | 'last'
  shows(bench: Bench, scenario: CapabilityScenarios[Name], scenarios: Scenarios): Promise<void>
  /** Further cases for an agent with the capability, each a test of its own. */
  readonly more?: readonly (Pick<CapabilityCase<Name>, 'title' | 'shared' | 'shows'> & {
    /** True if the scenarios contain everything that the case needs. */
    needs?(scenario: CapabilityScenarios[Name], scenarios: Scenarios): boolean
  })[]
  readonly refused?: (bench: Bench, scenarios: Scenarios) => Promise<unknown>
}

export type CapabilityCases = { readonly [Name in CapabilityName]: CapabilityCase<Name> }

type Played = { session: BenchSession; turn: Turn }

/** Sends the prompt of a scenario in a new session. */
export async function start(
  bench: Bench,
  { prompt, session: settings }: Scenario,
  more: Parameters<Bench['session']>[0] = {},
): Promise<Played> {
  const session = await bench.session({ ...settings, ...more })
  return { session, turn: await session.prompt(prompt) }
}

/** Runs a scenario to its completion and allows every request. */
export async function play(
  bench: Bench,
  scenario: Scenario,
  more: Parameters<Bench['session']>[0] = {},
): Promise<Played & { end: Extract<SessionEvent, { type: 'turn.ended' }> }> {
  const played = await start(bench, scenario, more)
  return { ...played, end: await played.turn.completed() }
}

export async function expectSaid(bench: Bench, scenario: Scenario & { says: string }): Promise<void> {
  const { turn } = await play(bench, scenario)
  expect(turn.said).toContain(scenario.says)
}

type CommandBody = CommandInput extends infer One
  ? One extends unknown
    ? Omit<One, 'commandId'>
    : never
  : never

/** Sends a command that must be refused without recording anything, and returns its refusal. */
export async function refusedCommand(bench: Bench, command: CommandBody): Promise<unknown> {
  const session = await bench.session()
  const before = session.events.length
  const refusal = await refusalOf(session.command(command))
  expect(session.events).toHaveLength(before)
  return refusal
}

/** Returned by `refused` if no command that needs the capability can be sent. */
export const nothingToRefuse = Symbol('nothing to refuse')

/** The error that `work` rejects with; undefined if it resolves. */
export function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (refusal: unknown) => refusal,
  )
}
