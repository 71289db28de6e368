import { AgentProcess, type ProgramStart } from './child-process.ts'

export type ProgramRun = ProgramStart & {
  readonly timeoutMs?: number
  /** Called with each line that the program writes to stderr. */
  readonly onLine?: (line: string) => void
}

export type ProgramEnd = {
  readonly exitCode: number | null
  readonly signal?: NodeJS.Signals
  readonly stdout: string
  readonly stderrTail: string
  /** The reason why the program did not exit by itself. */
  readonly cut?: 'not started' | 'too slow' | 'aborted'
  /** The system error, if the program could not be started. */
  readonly error?: NodeJS.ErrnoException
}

const termGraceMs = 500
/** The time for which descendants may keep the output open after the program has exited. */
const drainMs = 1_000
const maxStdout = 1024 * 1024

/**
 * Runs a program to its end with an empty stdin. Never rejects. If the program is stopped early, its descendants are
 * ended too.
 */
export function runProgram({ timeoutMs, onLine, signal, ...start }: ProgramRun): Promise<ProgramEnd> {
  if (signal?.aborted)
    return Promise.resolve({ exitCode: null, stdout: '', stderrTail: '', cut: 'aborted' as const })
  const program = new AgentProcess()
  const child = program.spawn(start)
  let stdout = ''
  let cut: ProgramEnd['cut']
  let error: NodeJS.ErrnoException | undefined
  let force: NodeJS.Timeout | undefined
  const stop = (why: NonNullable<ProgramEnd['cut']>) => {
    cut ??= why
    program.kill('SIGTERM')
    force ??= setTimeout(() => program.kill(), termGraceMs)
  }
  const abort = () => stop('aborted')
  const limit = timeoutMs === undefined ? undefined : setTimeout(() => stop('too slow'), timeoutMs)
  signal?.addEventListener('abort', abort, { once: true })
  child.stdin.on('error', () => undefined)
  child.stdin.end()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (stdout.length < maxStdout) stdout += text
  })
  if (onLine) child.stderr.on('data', linesOf(onLine))
  return new Promise((resolve) => {
    let drain: NodeJS.Timeout | undefined
    const over = () => {
      for (const timer of [limit, force, drain]) clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      if (cut) program.kill()
      const { exitCode = null, stderrTail = '', signal: by } = program.exitDetails()
      const how = { ...(by && { signal: by }), ...(cut && { cut }), ...(error && { error }) }
      resolve({ exitCode, stdout, stderrTail, ...how })
    }
    child.once('error', (thrown: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return
      cut = 'not started'
      error = thrown
      over()
    })
    child.once('close', over)
    child.once('exit', () => {
      drain = setTimeout(over, drainMs)
    })
  })
}

function linesOf(onLine: (line: string) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split(/\r?\n/)
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') onLine(line)
  }
}
