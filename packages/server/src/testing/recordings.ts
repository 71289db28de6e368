import { resolve } from 'node:path'
import type { AgentOutput } from '@parley/adapter-kit'
import type { SessionEvent } from '@parley/protocol'
import { logProblems } from './invariants.ts'
import { describe, expect, it } from './peers.ts'
import { outputsOf } from './replaying.ts'

const repository = resolve(import.meta.dirname, '../../../..')

/** Recordings of a real agent, and the outputs of its adapter for them. */
export type Recordings = {
  readonly names: readonly string[]
  /** The texts in the log of each recording: every text once, in order. */
  readonly texts: Readonly<Record<string, readonly unknown[]>>
  /** The outcomes of the turns of each recording; one completed turn if there is no entry. */
  readonly outcomes: Readonly<Record<string, readonly string[]>>
  /**
   * Matches names and paths of the machine on which the recordings were made. A recording must not contain any of them.
   */
  readonly traces: RegExp
  /** True if the agent must have streamed every text and thinking block that it completes. */
  readonly streamsAll?: boolean
  read(name: string): unknown
  outputs(name: string): readonly AgentOutput[]
}

/** Tests that apply to the recordings of any agent. */
export function recordingsHold(recordings: Recordings): void {
  const { names, texts, traces, streamsAll = false, read, outputs } = recordings
  it('has the expected texts of every recording', () => {
    expect(Object.keys(texts).toSorted()).toEqual(names.toSorted())
  })

  describe.each(names)('the recording %s', (name) => {
    it('contains no trace of the machine it was made on', () => {
      const text = JSON.stringify(read(name))
      expect(text).not.toMatch(traces)
      expect(text).not.toContain(repository)
    })

    it('gives the same outputs twice', () => {
      expect(outputs(name)).toEqual(outputs(name))
    })

    it('leaves nothing unrecognised', () => {
      expect(outputsOf(outputs(name), 'agent.unrecognised')).toEqual([])
    })

    it('streams the text of every block that it writes', () => {
      const streamed = new Map<string, string>()
      for (const output of outputs(name)) {
        if (output.type !== 'text.streamed' && output.type !== 'thinking.streamed') continue
        streamed.set(output.blockId, (streamed.get(output.blockId) ?? '') + output.text)
      }
      const written = [
        ...outputsOf(outputs(name), 'text.written'),
        ...outputsOf(outputs(name), 'thinking.written'),
      ]
      for (const { blockId, text } of written) expect(streamed.get(blockId) ?? text).toBe(text)
      const ids = written.map(({ blockId }) => blockId)
      expect(ids.length).toBe(new Set(ids).size)
      if (streamsAll) expect([...streamed.keys()].toSorted()).toEqual(ids.toSorted())
    })
  })
}

type Replayed = { log(): Promise<SessionEvent[]>; texts(): Promise<string[]> }

/**
 * Checks that a session in which the recording was replayed has a valid log, with every text once. Returns the log.
 */
export async function expectRecorded(
  session: Replayed,
  { texts, outcomes }: Recordings,
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
