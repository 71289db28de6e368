import type { AgentAdapter, AgentConnection, AgentOutput } from '@parley/adapter-kit'
import { capabilities, PermissionMode, promptText } from '@parley/protocol'
import { atPace, nextTick, stamp } from './pace.ts'
import { pieces } from './words.ts'

/** The task in a prompt of the bench, as JSON. */
export type Task =
  /** `deltas` pieces in `blocks` blocks of text, as fast as the host reads them, or one per event loop turn. */
  | {
      readonly do: 'stream'
      readonly deltas: number
      readonly blocks: number
      readonly each?: 'tick'
    }
  /** `count` deltas at a steady `rate` per second, each with its creation time as its text. */
  | { readonly do: 'stamp'; readonly count: number; readonly rate: number }
  /** `count` small durable events. */
  | { readonly do: 'notice'; readonly count: number; readonly text: string }
  /** `count` tool calls, two durable events each. */
  | { readonly do: 'calls'; readonly count: number }
  /**
   * Outputs at a steady `rate` per second, like an agent at work: twelve pieces of a text, then a tool call, repeated.
   */
  | { readonly do: 'work'; readonly count: number; readonly rate: number }

/** An agent that does as little work as the port allows, so that the figures measure the server. */
export function createBenchAgent(): AgentAdapter {
  return {
    id: 'bench',
    name: 'Bench',
    capabilities: capabilities('streaming', 'interrupt'),
    modes: PermissionMode.options,
    probe: async () => ({ found: true }),
    connect: async () => connection(),
  }
}

type Playing = { readonly outputs: Iterable<AgentOutput>; readonly each?: 'tick' | undefined }

function connection(): AgentConnection {
  const waiting: AgentOutput[] = []
  let wake: () => void = () => undefined
  let closed = false
  let playing: Playing | undefined
  const put = (output: AgentOutput) => {
    waiting.push(output)
    wake()
  }

  async function* events(): AsyncGenerator<AgentOutput> {
    while (!closed) {
      const turn = playing
      playing = undefined
      for (const output of turn?.outputs ?? []) {
        yield output
        if (turn?.each === 'tick') await nextTick()
      }
      while (waiting.length > 0) yield waiting.shift()!
      if (!closed && !playing) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  }

  return {
    events: events(),
    async send({ prompt }) {
      const task = JSON.parse(promptText(prompt.parts)) as Task
      if (task.do === 'stamp') void stamped(task, prompt.promptId, put)
      else if (task.do === 'work') void worked(task, prompt.promptId, put)
      else if (task.do === 'notice') playing = { outputs: noticed(task) }
      else if (task.do === 'calls') playing = { outputs: called(task, prompt.promptId) }
      else playing = { outputs: streamed(task, prompt.promptId), each: task.each }
      wake()
    },
    interrupt: async () => undefined,
    configure: async () => undefined,
    async close() {
      closed = true
      wake()
    },
  }
}

function* streamed(
  { deltas, blocks }: Extract<Task, { do: 'stream' }>,
  prefix: string,
): Generator<AgentOutput> {
  const count = Math.floor(deltas / blocks)
  let last = ''
  for (let block = 0; block < blocks; block++) {
    const blockId = `${prefix}.${block}`
    const texts = pieces(block, count)
    for (const text of texts) yield { type: 'text.streamed', blockId, text }
    last = texts.join('')
    yield { type: 'text.written', blockId, text: last }
  }
  // Like Claude Code, repeats the last text as the result of the turn.
  yield { ...ended, result: last }
}

function* noticed({ count, text }: Extract<Task, { do: 'notice' }>): Generator<AgentOutput> {
  for (let index = 0; index < count; index++) {
    yield { type: 'agent.noticed', level: 'info', code: 'bench', text }
  }
  yield ended
}

function* called({ count }: Extract<Task, { do: 'calls' }>, prefix: string): Generator<AgentOutput> {
  for (let index = 0; index < count; index++) {
    const toolCallId = `${prefix}.${index}`
    const input = { path: 'src/index.ts' }
    yield { type: 'tool-call.called', toolCallId, name: 'Read', kind: 'read', title: 'src/index.ts', input }
    yield { type: 'tool-call.ended', toolCallId, outcome: 'completed', content: [] }
  }
  yield ended
}

async function worked(
  { count, rate }: Extract<Task, { do: 'work' }>,
  prefix: string,
  put: (output: AgentOutput) => void,
): Promise<void> {
  const outputs: AgentOutput[] = []
  for (let round = 0; outputs.length < count; round++) {
    const texts = [...streamed({ do: 'stream', deltas: 12, blocks: 1 }, `${prefix}.${round}`)]
    const calls = [...called({ do: 'calls', count: 1 }, `${prefix}.${round}`)]
    outputs.push(...[...texts, ...calls].filter((output) => output.type !== 'turn.ended'))
  }
  await atPace(rate, outputs.length, (index) => put(outputs[index]!))
  put(ended)
}

async function stamped(
  { count, rate }: Extract<Task, { do: 'stamp' }>,
  blockId: string,
  put: (output: AgentOutput) => void,
): Promise<void> {
  let text = ''
  await atPace(rate, count, () => {
    const piece = stamp()
    text += piece
    put({ type: 'text.streamed', blockId, text: piece })
  })
  put({ type: 'text.written', blockId, text })
  put(ended)
}

const ended = {
  type: 'turn.ended',
  outcome: 'completed',
  stopReason: 'end_turn',
} as const satisfies AgentOutput
