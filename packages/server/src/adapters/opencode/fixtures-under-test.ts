import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter, AgentConnection, AgentOutput } from '../../core/agent-adapter.ts'
import { translate } from './translate.ts'
import {
  initialState,
  type TranslateState,
  type Translation,
  withInterrupt,
  withSteering,
  withTurn,
} from './translate-state.ts'

const folder = join(import.meta.dirname, 'fixtures')

export const fixtureNames = readdirSync(folder).map((file) => file.replace(/\.jsonl$/, ''))

/** An event, or a mark of what was said to OpenCode at that moment: its type begins with `parley.`. */
export type FixtureLine = Readonly<Record<string, unknown>> & { readonly type: string }

export function readFixture(name: string): FixtureLine[] {
  const lines = readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

/** The session that is recorded: the one that was prompted. */
export function rootOf(lines: readonly FixtureLine[]): string {
  const busy = lines.find(({ type }) => type === 'session.status') as
    | { properties: { sessionID: string } }
    | undefined
  return busy?.properties.sessionID ?? ''
}

export function beginning(lines: readonly FixtureLine[]): TranslateState {
  return initialState({ root: rootOf(lines), cwd: '/somewhere/project', servers: ['echo'], title: 'Parley' })
}

/** What one line of a recording does. */
export function step(state: TranslateState, line: FixtureLine): Translation {
  switch (line.type) {
    case 'parley.turn':
      return { state: withTurn(state, Number(line.at)), outputs: [] }
    case 'parley.steer':
      return { state: withSteering(state, String(line.messageID)), outputs: [] }
    case 'parley.interrupt':
      return { state: withInterrupt(state), outputs: [] }
    default:
      return translate(state, line)
  }
}

/** What the translator gives for each prompt of a recording, up to the next one. */
export function translateFixture(name: string): AgentOutput[][] {
  const lines = readFixture(name)
  const turns: AgentOutput[][] = []
  let state = beginning(lines)
  for (const line of lines) {
    const next = step(state, line)
    state = next.state
    if (line.type === 'parley.turn') turns.push([])
    turns.at(-1)?.push(...next.outputs)
  }
  return turns
}

export function allOutputs(name: string): AgentOutput[] {
  return translateFixture(name).flat()
}

export function outputsOf<Type extends AgentOutput['type']>(
  outputs: readonly AgentOutput[],
  type: Type,
): Extract<AgentOutput, { type: Type }>[] {
  return outputs.filter((output): output is Extract<AgentOutput, { type: Type }> => output.type === type)
}

/** The adapter `like`, whose agent answers the n-th prompt with the n-th turn. */
export function replaying(like: AgentAdapter, turns: readonly AgentOutput[][]): AgentAdapter {
  return { ...like, connect: async () => new Replay(turns) }
}

class Replay implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #turns: AgentOutput[][]
  #waiting: AgentOutput[] = [{ type: 'agent.connected', agentSessionId: 'replayed' }]
  #closed = false
  #wake: () => void = () => undefined

  constructor(turns: readonly AgentOutput[][]) {
    this.#turns = [...turns]
    this.events = this.#read()
  }

  async send(): Promise<void> {
    this.#waiting.push(...(this.#turns.shift() ?? []))
    this.#wake()
  }

  async interrupt(): Promise<void> {}
  async configure(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
    this.#wake()
  }

  async *#read(): AsyncGenerator<AgentOutput> {
    while (!this.#closed) {
      const next = this.#waiting.shift()
      if (next) yield next
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}
