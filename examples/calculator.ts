import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { capabilities, promptText } from '@parley/protocol'
import { type AgentAdapter, type AgentConnection, type ConnectInput, createOutputQueue } from '@parley/server'

/**
 * A custom agent: a calculator that asks before it writes a result to result.txt. An agent that is a program would be
 * started in `connect` and ended in `close`. The types of the port describe what it requires, and `adapterContract` of
 * @parley/server/testing tests all of it: see calculator.test.ts.
 */
export function createCalculatorAdapter(): AgentAdapter {
  return {
    id: 'calculator',
    name: 'Calculator',
    capabilities: capabilities('streaming', 'permissions', 'interrupt'),
    modes: ['ask', 'bypass'],
    probe: async () => ({ found: true, version: '1.0.0', signedIn: true }),
    connect: async (input) => connect(input),
  }
}

function connect({ person, cwd }: ConnectInput): AgentConnection {
  const queue = createOutputQueue(() => close())
  let turn = new AbortController()
  let calls = 0

  async function close() {
    turn.abort()
    void queue.put({ type: 'agent.disconnected', reason: 'closed' })
    queue.end()
  }

  /** Resolves when the output is stored, so the agent never runs ahead of its log. */
  async function say(blockId: string, text: string) {
    for (const piece of text.match(/\S+\s*/g) ?? []) {
      await queue.put({ type: 'text.streamed', blockId, text: piece })
    }
    await queue.put({ type: 'text.written', blockId, text })
  }

  async function divide(promptId: string, [a, b]: readonly [number, number]): Promise<string> {
    const toolCallId = `${promptId}.call-${++calls}`
    const call = { name: 'divide', kind: 'edit', title: `${a} / ${b}`, input: { a, b } } as const
    await queue.put({ type: 'tool-call.called', toolCallId, ...call })
    const answer = await person.permit({ toolCallId, tool: call.name, ...call }, turn.signal)
    const outcome = answer.outcome === 'allowed' ? 'completed' : answer.outcome
    const text = outcome === 'completed' ? String(a / b) : 'not done'
    if (outcome === 'completed') await writeFile(join(cwd, 'result.txt'), text)
    await queue.put({ type: 'tool-call.ended', toolCallId, outcome, content: [{ type: 'text', text }] })
    return text
  }

  async function play(promptId: string, words: string) {
    await queue.put({ type: 'native', message: { asked: words } })
    const found = /(-?\d+) *\/ *(-?\d+)/.exec(words)
    if (words === 'wait') {
      await say(`${promptId}.text`, 'Waiting until I am stopped.')
      if (!turn.signal.aborted) await once(turn.signal, 'abort')
    }
    const result = found ? await divide(promptId, [Number(found[1]), Number(found[2])]) : 'nothing to divide'
    if (!turn.signal.aborted) await say(`${promptId}.text`, `The result is ${result}.`)
    const stopped = { outcome: 'cancelled', stopReason: 'cancelled' } as const
    const done = { outcome: 'completed', stopReason: 'end_turn' } as const
    await queue.put({ type: 'turn.ended', ...(turn.signal.aborted ? stopped : done) })
  }

  void queue.put({ type: 'agent.connected', cwd, tools: ['divide'] })
  return {
    events: queue.outputs,
    async send({ prompt }) {
      turn = new AbortController()
      void play(prompt.promptId, promptText(prompt.parts))
    },
    interrupt: async () => turn.abort(),
    configure: async () => {},
    close,
  }
}
