import type { Options, PermissionResult } from '@anthropic-ai/claude-agent-sdk'
import type { ModelRequest, ModelServer } from '../../src/testing/model-server.ts'
import { createAnswers, type ToolCall } from '../model-answers.ts'
import type { ClaudeRun } from './run.ts'

export type Scenario = {
  readonly files?: Readonly<Record<string, string | Buffer>>
  readonly env?: Readonly<Record<string, string>>
  readonly options?: Options
  play(stage: Stage): Promise<void>
}
export type Stage = { server: ModelServer; start(more?: Options): ClaudeRun; cwd: string }

export const { says, calls } = createAnswers({ input_tokens: 100, output_tokens: 20 }, 'toolu')

/** The number of ended turns. */
export function results(messages: readonly { type: string }[]): number {
  return messages.filter(({ type }) => type === 'result').length
}

/** True for the message that reports a queued prompt. The types of the SDK lack this message. */
export function isQueued(message: object): boolean {
  const { type, state } = message as { type?: string; state?: string }
  return type === 'command_lifecycle' && state === 'queued'
}

export function userWords({ messages }: ModelRequest): string {
  return JSON.stringify(messages.filter(({ role }) => role === 'user'))
}

export const bash = (command: string): ToolCall => ['Bash', { command, description: 'as asked' }]
export const deny = async (): Promise<PermissionResult> => ({ behavior: 'deny', message: 'Not today.' })
