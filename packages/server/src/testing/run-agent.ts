import { spawn } from 'node:child_process'
import type { Rejoining } from '@parley/adapter-kit/testing'
import { modelPrompt } from './model-by-prompt.ts'

/** Runs an agent's own program until it ends, with this text on its input; resolves with its output. */
export async function runAgent(
  program: string,
  args: readonly string[],
  { cwd, env, input }: { cwd: string; env: Record<string, string>; input: string },
): Promise<string> {
  const child = spawn(program, args, { cwd, env, stdio: 'pipe' })
  let [printed, problems] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    problems += text
  })
  child.stdin.on('error', () => undefined).end(input)
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${problems}${printed}`)
  return printed
}

/** The rejoin scenario of an agent whose scripted model gives the answers in its prompts. */
export function rejoinScenario(speak: Rejoining['speak'], more: Pick<Rejoining, 'locks'> = {}): Rejoining {
  return {
    speak,
    tell: (words, content) => modelPrompt(words, { content }),
    recall: (words) => modelPrompt(words, { say: 'history' }),
    ...more,
  }
}
