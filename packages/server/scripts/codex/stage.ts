import type { CodexSetup } from '../../src/testing/codex-environment.ts'
import type { ModelAnswer, ModelServer } from '../../src/testing/model-server.ts'
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

const usage = { input_tokens: 100, output_tokens: 20 }

export function says(content: string, more: object = {}): ModelAnswer {
  return { content, usage, ...more }
}

let lastCall = 0

/** An answer of the model: a text, then tool calls, each as [name, input]. */
export function calls(words: string, ...list: [name: string, input: object][]): ModelAnswer {
  const blocks = list.map(([name, input]) => ({
    type: 'toolCall' as const,
    name,
    id: `call_${String(++lastCall).padStart(8, '0')}`,
    arguments: JSON.stringify(input),
  }))
  return { blocks: [...(words ? [{ type: 'text' as const, text: words }] : []), ...blocks], usage }
}

export function script(server: ModelServer, ...answers: ModelAnswer[]): void {
  server.script(
    () => true,
    answers.map((response) => ({ response, chunkSize: 16 })),
  )
}

/** A scenario with one prompt, which the model answers with these answers in turn. */
export function oneTurn(prompt: string, ...answers: ModelAnswer[]): Scenario['play'] {
  return async ({ server, start }) => {
    script(server, ...answers)
    await using run = await start()
    await run.turn(prompt)
  }
}

export const command = (cmd: string, more: object = {}): [string, object] => [
  'exec_command',
  { cmd, ...more },
]
export const patch = (...lines: string[]): [string, object] =>
  command(["apply_patch <<'EOF'", '*** Begin Patch', ...lines, '*** End Patch', 'EOF', ''].join('\n'))
export const decide = (decision: string) => () => ({ decision })
