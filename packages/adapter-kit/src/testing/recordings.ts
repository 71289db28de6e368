import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter, AgentConnection, AgentOutput } from '../agent-adapter.ts'
import { createOutputQueue } from '../output-queue.ts'
import type { Translation } from '../translation.ts'
import type { TestRunner } from './adapter-contract.ts'
import { expect } from './expect.ts'

/** Recordings of real agents: what their translation must satisfy, and an agent that replays them. */

export function recordingsIn(folder: string): string[] {
  return readdirSync(folder).map((file) => file.replace(/\.jsonl$/, ''))
}

export function readRecording<Line>(folder: string, name: string): Line[] {
  const lines = readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

/**
 * Translates the lines of a recording one after the other. Returns the outputs before the first turn, then those of each
 * turn. `startsTurn` is true for a line with which a turn starts.
 */
export function translateRecording<State, Line>(
  lines: readonly Line[],
  first: State,
  step: (state: State, line: Line) => Translation<State>,
  startsTurn: (line: Line) => boolean,
): AgentOutput[][] {
  const parts: AgentOutput[][] = [[]]
  let state = first
  for (const line of lines) {
    if (startsTurn(line)) parts.push([])
    const next = step(state, line)
    state = next.state
    parts.at(-1)?.push(...next.outputs)
  }
  return parts
}

/** Recordings of a real agent, and the outputs of its adapter for them. */
export type Recordings = {
  readonly names: readonly string[]
  /**
   * Matches names and paths of the machine on which the recordings were made. A recording must not contain any of them.
   */
  readonly traces: RegExp
  /** True if the agent must have streamed every text and thinking block that it completes. */
  readonly streamsAll?: boolean
  read(name: string): unknown
  outputs(name: string): readonly AgentOutput[]
}

const limits = { timeout: 60_000 }

/** Registers the tests that apply to the recordings of any agent. */
export function recordingsHold(
  recordings: Recordings,
  { describe, it }: Pick<TestRunner, 'describe' | 'it'>,
) {
  const { names, traces, streamsAll = false, read, outputs } = recordings
  for (const name of names)
    describe(`the recording ${name}`, () => {
      it('contains no trace of the machine it was made on', limits, async () => {
        const text = JSON.stringify(read(name))
        expect(text.match(traces)?.[0], 'a trace').toBeUndefined()
        expect(text.includes(process.cwd()), 'the path of this project').toBe(false)
      })

      it('gives the same outputs twice', limits, async () => {
        expect(outputs(name)).toEqual(outputs(name))
      })

      it('leaves nothing unrecognised', limits, async () => {
        expect(outputsOf(outputs(name), 'agent.unrecognised')).toEqual([])
      })

      it('streams the text of every block that it writes', limits, async () => {
        expectStreamed(outputs(name), streamsAll)
      })
    })
}

function expectStreamed(outputs: readonly AgentOutput[], streamsAll: boolean): void {
  const streamed = new Map<string, string>()
  for (const output of outputs) {
    if (output.type !== 'text.streamed' && output.type !== 'thinking.streamed') continue
    streamed.set(output.blockId, (streamed.get(output.blockId) ?? '') + output.text)
  }
  const written = [...outputsOf(outputs, 'text.written'), ...outputsOf(outputs, 'thinking.written')]
  for (const { blockId, text } of written) expect(streamed.get(blockId) ?? text, blockId).toBe(text)
  const ids = written.map(({ blockId }) => blockId)
  expect(ids.length, 'the number of blocks').toBe(new Set(ids).size)
  if (streamsAll) expect([...streamed.keys()].toSorted(), 'the streamed blocks').toEqual(ids.toSorted())
}

export function outputsOf<Type extends AgentOutput['type']>(
  outputs: readonly AgentOutput[],
  type: Type,
): Extract<AgentOutput, { type: Type }>[] {
  return outputs.filter((output): output is Extract<AgentOutput, { type: Type }> => output.type === type)
}

const connected: AgentOutput = { type: 'agent.connected', agentSessionId: 'replayed' }

/**
 * An adapter like `like`, whose agent sends `first` at once and answers the n-th prompt with the n-th of
 * `turns`.
 */
export function replaying(
  like: AgentAdapter,
  turns: readonly (readonly AgentOutput[])[],
  first: readonly AgentOutput[] = [connected],
): AgentAdapter {
  return { ...like, connect: async () => replay([...turns], first) }
}

function replay(turns: (readonly AgentOutput[])[], first: readonly AgentOutput[]): AgentConnection {
  const queue = createOutputQueue(() => undefined)
  const say = (outputs: readonly AgentOutput[]) => {
    for (const output of outputs) void queue.put(output)
  }
  say(first)
  return {
    events: queue.outputs,
    async send() {
      say(turns.shift() ?? [])
    },
    async interrupt() {},
    async configure() {},
    async close() {
      queue.end()
    },
  }
}
