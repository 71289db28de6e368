import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter, AgentConnection, AgentOutput } from '../../core/agent-adapter.ts'
import { initialState, type TranslateContext, translate, withSteering, withTurn } from './translate.ts'

const folder = join(import.meta.dirname, 'fixtures')

export const fixtureNames = readdirSync(folder).map((file) => file.replace(/\.jsonl$/, ''))

export type FixtureMessage = Readonly<Record<string, unknown>> & { readonly type: string }

export function readFixture(name: string): FixtureMessage[] {
  const lines = readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

/** What the translator gives for each prompt of a recording, up to the next one. */
export function translateFixture(name: string, context: TranslateContext = {}): AgentOutput[][] {
  const turns: AgentOutput[][] = []
  let state = initialState(context)
  for (const message of readFixture(name)) {
    const { type, state: now, command_uuid: uuid } = message
    if (type === 'command_lifecycle' && now === 'queued') {
      if (!state.turn) turns.push([])
      state = state.turn ? withSteering(state, String(uuid)) : withTurn(state, String(uuid))
    } else if (turns.length === 0) {
      turns.push([])
      state = withTurn(state, 'never taken up')
    }
    const next = translate(state, message)
    state = next.state
    turns.at(-1)?.push(...next.outputs)
  }
  return turns
}

export function allOutputs(name: string, context?: TranslateContext): AgentOutput[] {
  return translateFixture(name, context).flat()
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
