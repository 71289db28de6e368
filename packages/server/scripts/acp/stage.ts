import type { AgentConnection, AgentOutput, ConnectInput, Person } from '@parley/adapter-kit'
import { promptMessage, readTurn, readUntil } from '@parley/adapter-kit/testing'
import type { ModelAnswer, ModelRequest, ModelServer, ModelStep } from '../../src/testing/model-server.ts'
import { createAnswers, type ToolCall } from '../model-answers.ts'

export type Scenario = {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  play(stage: Stage): Promise<void>
}
export type Stage = {
  readonly server: ModelServer
  readonly cwd: string
  /** Connects to the agent. Only the last connection is recorded. */
  connect(changes?: Partial<ConnectInput>): Promise<AgentConnection>
}

/**
 * The n-th model call with tools gets the n-th answer. Calls without tools, such as for a title, get a fixed
 * answer.
 */
export function script(server: ModelServer, ...answers: (ModelAnswer | ModelStep)[]): void {
  const titles = Array.from({ length: 50 }, () => ({ response: { content: '{"title":"A title"}' } }))
  server.script((request) => !hasTools(request), titles)
  const steps = answers.map((answer) => ('response' in answer ? answer : { response: answer }))
  server.script(hasTools, steps as ModelStep[])
}

function hasTools({ tools }: ModelRequest): boolean {
  return (tools?.length ?? 0) > 0
}

/** A scenario on one connection. The model gives these answers in turn. */
export function session(
  answers: readonly (ModelAnswer | ModelStep)[] | ((cwd: string) => readonly ModelAnswer[]),
  work: (connection: AgentConnection) => Promise<unknown>,
  changes: Partial<ConnectInput> = {},
): Scenario {
  return {
    async play({ server, cwd, connect }) {
      const given = typeof answers === 'function' ? answers(cwd) : answers
      if (given.length > 0) script(server, ...given)
      const connection = await connect(changes)
      await work(connection)
      await connection.close()
    },
  }
}

/** A scenario with one turn for each prompt. */
export function turns(
  prompts: readonly Parameters<typeof promptMessage>[0][],
  answers: Parameters<typeof session>[0],
  changes?: Partial<ConnectInput>,
): Scenario {
  const work = async (connection: AgentConnection) => {
    for (const prompt of prompts) await turn(connection, prompt)
  }
  return session(answers, work, changes)
}

export function oneTurn(answers: Parameters<typeof session>[0], changes?: Partial<ConnectInput>): Scenario {
  return turns(['Please do it.'], answers, changes)
}

/** A scenario in which a turn is interrupted during a call, and another turn follows. */
export function interrupted(prompt: string, call: ModelAnswer): Scenario {
  return session([call, says('Still here.')], async (connection) => {
    await connection.send(promptMessage(prompt))
    await readUntil(connection, ({ type }) => type === 'tool-call.called')
    await connection.interrupt()
    await readTurn(connection)
    await turn(connection, 'Are you there?')
  })
}

export async function turn(
  connection: AgentConnection,
  words: Parameters<typeof promptMessage>[0],
): Promise<AgentOutput[]> {
  await connection.send(promptMessage(words))
  return readTurn(connection)
}

/** The agent's id of the conversation. */
export async function sessionOf(connection: AgentConnection): Promise<string> {
  let id: string | undefined
  await readUntil(connection, (output) => {
    if (output.type === 'agent.connected') id ??= output.agentSessionId
    return id !== undefined
  })
  return id ?? ''
}

export function person(changes: Partial<Person> = {}): Person {
  return {
    forbids: () => false,
    permit: async () => ({ outcome: 'allowed', requestId: 'req' }),
    answer: async () => ({ outcome: 'cancelled', requestId: 'req' }),
    ...changes,
  }
}

export const denying = person({ permit: async () => ({ outcome: 'denied', requestId: 'req' }) })

const usage = { input_tokens: 100, output_tokens: 20, promptTokenCount: 100, candidatesTokenCount: 20 }
const answers = createAnswers(usage, 'toolu')
export const { says } = answers

export function calls(...list: ToolCall[]): ModelAnswer {
  return answers.calls('', ...list)
}

export const refusal = (status: number, type: string, message: string) =>
  ({ error: { message, type }, status }) as ModelAnswer
