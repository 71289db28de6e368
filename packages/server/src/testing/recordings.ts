import { type Recordings, recordingsHold as register } from '@parley/adapter-kit/testing'
import type { SessionEvent } from '@parley/protocol'
import { logProblems } from './invariants.ts'
import { expect, it } from './peers.ts'
import { vitestRunner } from './vitest-runner.ts'

/** Recordings of a real agent, and the expected log of a session in which they are replayed. */
export type ReplayedRecordings = Recordings & {
  /** The texts in the log of each recording: every text once, in order. */
  readonly texts: Readonly<Record<string, readonly unknown[]>>
  /** The outcomes of the turns of each recording; one completed turn if there is no entry. */
  readonly outcomes: Readonly<Record<string, readonly string[]>>
}

/** Registers the tests that apply to the recordings of any agent with Vitest. */
export function recordingsHold(recordings: ReplayedRecordings): void {
  it('has the expected texts of every recording', () => {
    expect(Object.keys(recordings.texts).toSorted()).toEqual(recordings.names.toSorted())
  })
  register(recordings, vitestRunner())
}

type Replayed = { log(): Promise<SessionEvent[]>; texts(): Promise<string[]> }

/**
 * Checks that a session in which the recording was replayed has a valid log, with every text once. Returns the log.
 */
export async function expectRecorded(
  session: Replayed,
  { texts, outcomes }: ReplayedRecordings,
  name: string,
): Promise<SessionEvent[]> {
  const log = await session.log()
  expect(logProblems(log)).toEqual([])
  expect(log.filter(({ type }) => type === 'agent.unrecognised')).toEqual([])
  expect(await session.texts()).toEqual(texts[name])
  const ends = log.filter((event) => event.type === 'turn.ended').map(({ outcome }) => outcome)
  expect(ends).toEqual(outcomes[name] ?? ['completed'])
  return log
}
