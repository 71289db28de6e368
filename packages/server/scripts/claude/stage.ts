import type { Options, PermissionResult } from '@anthropic-ai/claude-agent-sdk'
import type { ModelAnswer, ModelRequest, ModelServer } from '../../src/testing/model-server.ts'
import type { ClaudeRun } from './run.ts'

export type Scenario = {
  readonly files?: Readonly<Record<string, string | Buffer>>
  readonly env?: Readonly<Record<string, string>>
  readonly options?: Options
  play(stage: Stage): Promise<void>
}
export type Stage = { server: ModelServer; start(more?: Options): ClaudeRun; cwd: string }

const usage = { input_tokens: 100, output_tokens: 20 }
export const anyone = () => true

export function says(content: string, more: object = {}): ModelAnswer {
  return { content, usage, ...more }
}

let lastCall = 0

/** An answer of the model: a text, then tool calls, each as [name, input]. */
export function calls(words: string, ...list: [name: string, input: object][]): ModelAnswer {
  const blocks = list.map(([name, input]) => ({
    type: 'toolCall' as const,
    name,
    id: `toolu_${String(++lastCall).padStart(8, '0')}`,
    arguments: JSON.stringify(input),
  }))
  return { blocks: [...(words ? [{ type: 'text' as const, text: words }] : []), ...blocks], usage }
}

export function script(server: ModelServer, ...answers: ModelAnswer[]): void {
  server.script(
    anyone,
    answers.map((response) => ({ response, chunkSize: hasPath(response) ? 1000 : 16 })),
  )
}

/** A path that is streamed in several chunks could not be replaced in the recording. */
function hasPath(answer: ModelAnswer): boolean {
  return JSON.stringify(answer).includes('file_path')
}

/** A scenario with one prompt, which the model answers with these answers in turn. */
export function oneTurn(prompt: string, ...answers: ModelAnswer[]): Scenario['play'] {
  return async ({ server, start }) => {
    script(server, ...answers)
    await using run = start()
    await run.turn(prompt)
  }
}

/** A frame that the types of the SDK lack. */
export function isQueued(message: object): boolean {
  const { type, state } = message as { type?: string; state?: string }
  return type === 'command_lifecycle' && state === 'queued'
}

export function userWords({ messages }: ModelRequest): string {
  return JSON.stringify(messages.filter(({ role }) => role === 'user'))
}

export const bash = (command: string, description = 'as asked'): [string, object] => [
  'Bash',
  { command, description },
]
export const deny = async (): Promise<PermissionResult> => ({ behavior: 'deny', message: 'Not today.' })
