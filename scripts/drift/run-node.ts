import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

type Run = {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Called with each line of stdout. */
  readonly onLine?: (line: string) => void
}

const maxOutput = 4_000

/** Runs this Node with these arguments to its end. Rejects if it cannot be started, or if it is aborted. */
export async function runNode(
  args: readonly string[],
  { cwd, env, signal, onLine }: Run,
): Promise<{ exitCode: number | null; output: string }> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    signal,
    stdio: [...stdio],
  })
  let output = ''
  const keep = (text: string) => {
    output = (output + text).slice(-maxOutput)
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', keep)
  if (onLine) createInterface({ input: child.stdout }).on('line', onLine)
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { exitCode, output }
}
