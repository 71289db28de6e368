import { type ChildProcess, spawn } from 'node:child_process'
import { ParleyError } from '@parley/protocol'

/** Starts git, `gh` and `glab`. Each runs in its own process group, so that a kill also ends its children. */

export type Environment = Readonly<Record<string, string | undefined>>

export type GitResult = {
  readonly code: number
  readonly bytes: Buffer
  /** `bytes` as text. */
  readonly stdout: string
  /** The end of the output on stderr. */
  readonly stderr: string
  /** True if the program was ended because it wrote more than `limit` bytes. */
  readonly cut: boolean
}

export type RunOptions = {
  /** The maximum size of the output, in bytes. */
  readonly limit?: number
  /** Keeps only about this many bytes from the end of the output, which may have any length. */
  readonly tail?: number
  readonly timeoutMs?: number
  /** Called if the program is ended because it exceeds a time limit. The result is then its output, not an error. */
  readonly onLate?: () => void
  /** The maximum time without output. The default is `timeoutMs`. */
  readonly quietMs?: number
  readonly signal?: AbortSignal | undefined
  /** The standard input; by default empty. */
  readonly input?: string | Buffer
  /**
   * Returns the answer to a line that the program writes. `input` and the answers are written to the standard input
   * of the program, which is closed when an answer is undefined or rejects. If an answer rejects, the run rejects
   * with the same error.
   */
  readonly answer?: (line: string) => Promise<string | undefined>
  /** Called with everything that the program writes to stderr. */
  readonly progress?: (text: string) => void
}

export type Run = RunOptions & {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Environment
}

const maxBytes = 64 * 1024 * 1024
const usualTimeoutMs = 20_000
/** The time that git has to remove its lock files and exit after SIGTERM. After this time it is killed. */
const graceMs = 1_000
/**
 * The time for which output is read after the exit of a program, because a remaining child may keep the pipe open.
 */
const drainMs = 500

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) signalGroup(child, 'SIGTERM')
})

export async function runProgram(run: Run): Promise<GitResult> {
  if (run.signal?.aborted) throw aborted()
  const { program, args, cwd, env, limit = maxBytes, tail, input, answer, progress } = run
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  running.add(child)
  const chunks: Buffer[] = []
  let size = 0
  let stderr = ''
  await using ending = createEnding(child, run)
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    ending.heard()
    if (tail !== undefined) keepTail(chunks, chunk, tail)
    else if (size <= limit) chunks.push(chunk)
    else signalGroup(child, 'SIGKILL')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    ending.heard()
    stderr = (stderr + text).slice(-2_000)
    progress?.(text)
  })
  // A program may end before it has read its input.
  child.stdin.on('error', () => undefined)
  const talk = answer && converse(child, answer)
  if (talk) child.stdin.write(input ?? '')
  else child.stdin.end(input ?? '')
  const code = await ending.closed
  await talk?.()
  const bytes = Buffer.concat(chunks)
  return {
    code: code ?? -1,
    bytes,
    get stdout() {
      return bytes.toString('utf8')
    },
    stderr: stderr.trim(),
    cut: tail === undefined && size > limit,
  }
}

/**
 * Answers the lines that the program writes, one after another. The returned function waits for the last answer, and
 * rejects if an answer has rejected.
 */
function converse({ stdin, stdout }: ChildProcess, answer: NonNullable<RunOptions['answer']>) {
  let rest = ''
  let failure: { readonly error: unknown } | undefined
  let isOver = false
  let last = Promise.resolve()
  const reply = async (line: string) => {
    if (isOver) return
    const answered = await answer(line).catch((error: unknown) => {
      failure = { error }
      return undefined
    })
    isOver = answered === undefined
    if (isOver) stdin?.end()
    else stdin?.write(answered)
  }
  stdout?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) last = last.then(() => reply(line))
  })
  return async () => {
    await last
    if (failure) throw failure.error
  }
}

/** Adds a chunk, and drops the oldest chunks that are not needed for the tail. */
function keepTail(chunks: Buffer[], chunk: Buffer, tail: number): void {
  chunks.push(chunk)
  let size = chunks.reduce((sum, { length }) => sum + length, 0)
  for (let first = chunks[0]; first && size - first.length >= tail; first = chunks[0]) {
    size -= first.length
    chunks.shift()
  }
}

/** Ends the program at its time limit or when the caller aborts. `closed` resolves when the output is complete. */
function createEnding(child: ChildProcess, run: Run) {
  const { program, signal, timeoutMs = usualTimeoutMs, quietMs, onLate } = run
  const { promise: closed, resolve, reject } = Promise.withResolvers<number | null>()
  const timers = new Set<NodeJS.Timeout>()
  const after = (ms: number, work: () => void) => {
    const timer = setTimeout(work, ms)
    timers.add(timer)
    return timer
  }
  let failure: ParleyError | undefined
  const end = (error: ParleyError) => {
    if (failure) return
    failure = error
    signalGroup(child, 'SIGTERM')
    after(graceMs, () => signalGroup(child, 'SIGKILL'))
  }
  const abort = () => end(aborted())
  let isKept = false
  const late = (what: string) => () => {
    isKept = onLate !== undefined && failure === undefined
    end(new ParleyError('busy', `${program} ${what}. Try again.`))
    if (isKept) onLate?.()
  }
  signal?.addEventListener('abort', abort, { once: true })
  after(timeoutMs, late('took too long'))
  const quiet = quietMs === undefined ? undefined : after(quietMs, late('made no progress'))
  child.on('error', (error: NodeJS.ErrnoException) => reject(cannotRun(program, error)))
  child.on('exit', () => {
    after(drainMs, () => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    })
  })
  child.on('close', (code) => (failure && !isKept ? reject(failure) : resolve(code)))
  return {
    closed,
    heard: () => void quiet?.refresh(),
    async [Symbol.asyncDispose]() {
      running.delete(child)
      signal?.removeEventListener('abort', abort)
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The process group has already ended.
  }
}

const aborted = () => new ParleyError('cancelled', 'The operation was cancelled before it was complete.')

function cannotRun(program: string, error: NodeJS.ErrnoException): ParleyError {
  return error.code === 'ENOENT'
    ? new ParleyError('not_supported', `${program} is not installed here. Install it to use this.`, {
        details: { missing: program },
        cause: error,
      })
    : new ParleyError('busy', `${program} could not be run: ${error.message}. Try again.`, { cause: error })
}
