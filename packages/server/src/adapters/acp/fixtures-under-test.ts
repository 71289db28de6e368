import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionMode } from '@parley/protocol'
import type { AgentAdapter, AgentConnection, AgentOutput } from '../../core/agent-adapter.ts'
import { AcpAgent } from './agent.ts'
import type { Frame } from './native.ts'
import { claudeAcp, gemini } from './presets.ts'
import { initialState, type TranslateState, translate } from './translate.ts'

const folder = join(import.meta.dirname, 'fixtures')

export const fixtureNames = readdirSync(folder).map((file) => file.replace(/\.jsonl$/, ''))

export function readFixture(name: string): Frame[] {
  const lines = readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line))
}

/** The state that a connection to a recorded agent begins with. */
export function stateFor(name: string, requestedMode: PermissionMode = 'ask'): TranslateState {
  const { dialect, modes } = AcpAgent.parse(name.startsWith('gemini') ? gemini : claudeAcp)
  return initialState({ dialect, modes, connectionId: 'con_under_test', requestedMode })
}

/** What the translator gives: before the first prompt, and then for each prompt up to the next one. */
export function translateFixture(name: string, mode?: PermissionMode): AgentOutput[][] {
  const parts: AgentOutput[][] = [[]]
  let state = stateFor(name, mode)
  for (const frame of readFixture(name)) {
    if (frame.from === 'host' && frame.message.method === 'session/prompt') parts.push([])
    const next = translate(state, frame)
    state = next.state
    parts.at(-1)?.push(...next.outputs)
  }
  return parts
}

export function allOutputs(name: string, mode?: PermissionMode): AgentOutput[] {
  return translateFixture(name, mode).flat()
}

export function outputsOf<Type extends AgentOutput['type']>(
  outputs: readonly AgentOutput[],
  type: Type,
): Extract<AgentOutput, { type: Type }>[] {
  return outputs.filter((output): output is Extract<AgentOutput, { type: Type }> => output.type === type)
}

/** The adapter `like`, whose agent says the first part at once and answers the n-th prompt with the n-th part after it. */
export function replaying(like: AgentAdapter, parts: readonly AgentOutput[][]): AgentAdapter {
  return { ...like, connect: async () => new Replay(parts) }
}

class Replay implements AgentConnection {
  readonly events: AsyncIterable<AgentOutput>
  readonly #parts: AgentOutput[][]
  readonly #waiting: AgentOutput[] = []
  #closed = false
  #wake: () => void = () => undefined

  constructor([first = [], ...rest]: readonly AgentOutput[][]) {
    this.#parts = rest
    this.#waiting.push(...first)
    this.events = this.#read()
  }

  async send(): Promise<void> {
    this.#waiting.push(...(this.#parts.shift() ?? []))
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
