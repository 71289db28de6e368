import { tmpdir } from 'node:os'
import type { Prompt, PromptPart } from '@parley/protocol'
import type { AgentConnection, AgentMessage, AgentOutput, ConnectInput, Person } from '../agent-adapter.ts'

/** For tests of an adapter without a host: the input to connect with, the messages to send, and a reader. */

const never = new Promise<never>(() => undefined)
export const silentPerson: Person = { forbids: () => false, permit: () => never, answer: () => never }

/** Allows everything, and answers every question with its first option. */
export const allowingPerson: Person = {
  forbids: () => false,
  permit: async () => ({ outcome: 'allowed', requestId: 'req' }),
  answer: async ({ questions }) => ({
    outcome: 'answered',
    requestId: 'req',
    answers: Object.fromEntries(questions.map(({ id, options }) => [id, options[0]?.label ?? 'yes'])),
  }),
}

export function connectInput(changes: Partial<ConnectInput> = {}): ConnectInput {
  return {
    sessionId: 'ses',
    connectionId: 'con',
    cwd: tmpdir(),
    settings: { mode: 'ask' },
    trusted: false,
    person: allowingPerson,
    signal: new AbortController().signal,
    ...changes,
  }
}

export function promptMessage(
  words: string | readonly PromptPart[],
  type: AgentMessage['type'] = 'prompt',
): AgentMessage {
  const parts: PromptPart[] = typeof words === 'string' ? [{ type: 'text', text: words }] : [...words]
  const prompt: Prompt = { promptId: 'prm', parts, delivery: 'queue', at: 0 }
  return type === 'continue' ? { type, prompt, openCalls: [] } : { type, prompt }
}

/** Reads until `stop` returns true, or to the end. The connection remains open. */
export async function readUntil(
  connection: AgentConnection,
  stop: (output: AgentOutput) => boolean,
): Promise<AgentOutput[]> {
  const outputs: AgentOutput[] = []
  const iterator = connection.events[Symbol.asyncIterator]()
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    outputs.push(next.value)
    if (stop(next.value)) break
  }
  return outputs
}

export function readTurn(connection: AgentConnection): Promise<AgentOutput[]> {
  return readUntil(connection, (output) => output.type === 'turn.ended')
}

export function readToEnd(connection: AgentConnection): Promise<AgentOutput[]> {
  return readUntil(connection, () => false)
}
