import { resolve } from 'node:path'
import type { SessionEvent } from '@parley/protocol'
import type { AgentOutput } from '../core/agent-adapter.ts'
import { logProblems } from './invariants.ts'
import { describe, expect, it } from './peers.ts'
import { outputsOf } from './replaying.ts'

const repository = resolve(import.meta.dirname, '../../../..')

/** What was recorded of a real agent, and what its adapter makes of it. */
export type Recordings = {
  readonly names: readonly string[]
  /** What a reader of the log sees of each: every text once, in order. */
  readonly texts: Readonly<Record<string, readonly unknown[]>>
  /** How the turns of each end; one turn that is completed where there is no entry. */
  readonly outcomes: Readonly<Record<string, readonly string[]>>
  /** Of the machine on which they were made. */
  readonly traces: RegExp
  /** Whether there is no block that is written without having been streamed. */
  readonly streamsAll?: boolean
  read(name: string): unknown
  outputs(name: string): readonly AgentOutput[]
}

/** What holds for the recordings of any agent. */
export function recordingsHold(recordings: Recordings): void {
  const { names, texts, traces, streamsAll = false, read, outputs } = recordings
  it('knows what every recording says', () => {
    expect(Object.keys(texts).toSorted()).toEqual(names.toSorted())
  })

  describe.each(names)('the recording %s', (name) => {
    it('holds no trace of the machine it was made on', () => {
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

    it('streams of every block what it writes', () => {
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

/** A session in which it was replayed has a lawful log, every text in it once. Gives the log. */
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
