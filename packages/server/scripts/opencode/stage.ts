import type { ModelAnswer, ModelRequest, ModelServer } from '../../src/testing/model-server.ts'
import { createAnswers, script, type ToolCall } from '../model-answers.ts'
import type { OpenCodeRun } from './run.ts'

export type Scenario = {
  readonly files?: Readonly<Record<string, string | Buffer>>
  /** True if the folder is a git repository. OpenCode takes snapshots of files only in a repository. */
  readonly git?: boolean
  readonly config?: Readonly<Record<string, unknown>>
  play(stage: Stage): Promise<void>
}
export type Stage = { server: ModelServer; run: OpenCodeRun; cwd: string }

export const { says, calls } = createAnswers({ prompt_tokens: 100, completion_tokens: 20 }, 'call')

/** A scenario with one turn for each prompt. The requests to the model get these answers, in this order. */
export function turns(prompts: readonly string[], ...answers: ModelAnswer[]): Pick<Scenario, 'play'> {
  return {
    async play({ server, run }) {
      script(server, ...answers)
      for (const prompt of prompts) await run.turn(prompt)
    },
  }
}

export function oneTurn(prompt: string, ...answers: ModelAnswer[]): Pick<Scenario, 'play'> {
  return turns([prompt], ...answers)
}

export function mentions({ messages }: ModelRequest, words: string): boolean {
  return JSON.stringify(messages).includes(words)
}

export const bash = (command: string): ToolCall => ['bash', { command, description: 'as asked' }]
