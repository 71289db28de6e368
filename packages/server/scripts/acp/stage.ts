import type { AgentConnection, AgentOutput, ConnectInput, Person } from '../../src/core/agent-adapter.ts'
import type { ModelAnswer, ModelRequest, ModelServer, ModelStep } from '../../src/testing/model-server.ts'
import { promptMessage, readTurn, readUntil } from '../../src/testing/read-connection.ts'

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

/** The n-th model call with tools gets the n-th answer. Calls without tools, such as for a title, get a fixed one. */
export function script(server: ModelServer, ...answers: (ModelAnswer | ModelStep)[]): void {
  const titles = Array.from({ length: 50 }, () => ({ response: { content: '{"title":"A title"}' } }))
  server.script((request) => !hasTools(request), titles)
  const steps = answers.map((answer) => ('response' in answer ? answer : { response: answer }))
  server.script(hasTools, steps as ModelStep[])
}

function hasTools({ tools }: ModelRequest): boolean {
  return (tools?.length ?? 0) > 0
}

/** A scenario with one prompt, which the model answers with these answers in turn. */
export function oneTurn(
  answers: (cwd: string) => readonly ModelAnswer[],
  more: Partial<ConnectInput> = {},
): Scenario {
  return {
    async play({ server, cwd, connect }) {
      script(server, ...answers(cwd))
      const connection = await connect(more)
      await turn(connection, 'Please do it.')
      await connection.close()
    },
  }
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

export function says(content: string, more: object = {}): ModelAnswer {
  return { content, usage, ...more } as ModelAnswer
}

let lastCall = 0

export function calls(...list: [name: string, input: object][]): ModelAnswer {
  const toolCalls = list.map(([name, input]) => ({
    name,
    id: `toolu_${String(++lastCall).padStart(8, '0')}`,
    arguments: JSON.stringify(input),
  }))
  return { toolCalls, usage } as ModelAnswer
}

export const echo = (script: string) => ({
  echo: { command: process.execPath, args: ['--conditions=source', script] },
})
