import type { SetupRun } from '@parley/protocol'
import type { CommandToRun } from '../core/project-commands.ts'
import { type Environment, runProgram } from './run-git.ts'

/** Marks processes, and ends all that have a mark. */
export type ProcessMarks = {
  readonly variables: (mark: string) => Readonly<Record<string, string>>
  readonly end: (mark: string) => void
}

const tailBytes = 8_000

/** Runs a command of a project in a shell. Variables of this server are not passed on. */
export async function runCommand(
  env: Environment,
  folder: string,
  {
    command,
    source = folder,
    timeoutMs,
    signal,
    variables,
  }: Omit<CommandToRun, 'mark'> & { readonly variables: Readonly<Record<string, string>> },
): Promise<SetupRun> {
  const kept = Object.entries(env).filter(([name]) => !/^(PARLEY_|npm_|GIT_)/.test(name))
  const given = { PARLEY_WORKTREE: folder, PARLEY_SOURCE: source, ...variables }
  const start = performance.now()
  let isLate = false
  const ran = await runProgram({
    program: '/bin/sh',
    // stderr is redirected to stdout, so that errors keep their place in the output.
    args: ['-c', 'exec 2>&1; eval "$1"', 'sh', command],
    cwd: folder,
    env: { ...Object.fromEntries(kept), ...given },
    tail: tailBytes,
    timeoutMs,
    signal,
    onLate: () => {
      isLate = true
    },
  })
  const tail = ran.stdout.slice(-tailBytes)
  const durationMs = Math.round(performance.now() - start)
  return { command, ...(!isLate && { exitCode: ran.code }), durationMs, tail }
}
