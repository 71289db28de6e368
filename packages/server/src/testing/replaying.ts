import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter, AgentConnection, AgentOutput } from '@parley/adapter-kit'
import { createOutputQueue } from '@parley/adapter-kit/output-queue'

/** Recordings of real agents, and an agent that replays them. */

/** The recordings of an adapter: those beside it, or those in the folder that `PARLEY_TEST_RECORDINGS` names. */
export function recordingsFolder(adapter: string): string {
  return process.env.PARLEY_TEST_RECORDINGS ?? join(adapter, 'fixtures')
}

export function recordingsIn(folder: string): string[] {
  return readdirSync(folder).map((file) => file.replace(/\.jsonl$/, ''))
}

export function readRecording<Line>(folder: string, name: string): Line[] {
  const lines = readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
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
