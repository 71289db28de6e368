import type { CodexSetup } from '../../src/testing/codex-environment.ts'
import type { ModelServer } from '../../src/testing/model-server.ts'
import { createAnswers, type ToolCall } from '../model-answers.ts'
import type { CodexRun, RunOptions } from './run.ts'

export type Scenario = Partial<Pick<RunOptions, 'settings' | 'input' | 'answer'>> & {
  readonly files?: Readonly<Record<string, string | Buffer>>
  readonly setup?: Pick<CodexSetup, 'retries' | 'settings' | 'secondSubagents'>
  play(stage: Stage): Promise<void>
}
export type Stage = {
  readonly server: ModelServer
  start(more?: Partial<RunOptions>): Promise<CodexRun>
  readonly cwd: string
}

export const { says, calls } = createAnswers({ input_tokens: 100, output_tokens: 20 }, 'call')

export const command = (cmd: string, more: object = {}): ToolCall => ['exec_command', { cmd, ...more }]
export const patch = (...lines: string[]): ToolCall =>
  command(["apply_patch <<'EOF'", '*** Begin Patch', ...lines, '*** End Patch', 'EOF', ''].join('\n'))
export const decide = (decision: string) => () => ({ decision })
