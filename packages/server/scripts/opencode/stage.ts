import type { ModelAnswer, ModelRequest, ModelServer } from '../../src/testing/model-server.ts'
import type { OpenCodeRun } from './run.ts'

export type Scenario = {
  readonly files?: Readonly<Record<string, string | Buffer>>
  /** The folder is a git repository: OpenCode takes snapshots of files only there. */
  readonly git?: boolean
  readonly config?: Readonly<Record<string, unknown>>
  play(stage: Stage): Promise<void>
}
export type Stage = { server: ModelServer; run: OpenCodeRun; cwd: string }

const usage = { prompt_tokens: 100, completion_tokens: 20 }
export const anyone = () => true

export function says(content: string, more: object = {}): ModelAnswer {
  return { content, usage, ...more }
}

let lastCall = 0

/** An answer of the model: a text, then tool calls, each as [name, input]. */
export function calls(words: string, ...list: [name: string, input: object][]): ModelAnswer {
  const toolCalls = list.map(([name, input]) => ({
    name,
    id: `call_${String(++lastCall).padStart(8, '0')}`,
    arguments: JSON.stringify(input),
  }))
  return { ...(words ? { content: words } : {}), toolCalls, usage }
}

export function script(server: ModelServer, ...answers: ModelAnswer[]): void {
  server.script(
    anyone,
    answers.map((response) => ({ response, chunkSize: 16 })),
  )
}

/** A scenario with one prompt, which the model answers with these answers in turn. */
export function oneTurn(prompt: string, ...answers: ModelAnswer[]): Scenario['play'] {
  return async ({ server, run }) => {
    script(server, ...answers)
    await run.turn(prompt)
  }
}

export function heard({ messages }: ModelRequest, words: string): boolean {
  return JSON.stringify(messages).includes(words)
}

export const bash = (command: string): [string, object] => ['bash', { command, description: 'as asked' }]
