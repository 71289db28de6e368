import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { endMarked, markVariable } from './leftovers.ts'

const stderrTailLength = 4_000

export type ProgramStart = {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ends it by force. */
  readonly signal?: AbortSignal | undefined
}

/** The process of an agent: what it says on stderr, how it ended, and an end by force. */
export class AgentProcess {
  /** What everything that it starts has in its environment. */
  readonly mark = randomUUID()
  #child: ChildProcessWithoutNullStreams | undefined
  #stderr = ''
  #exit: { exitCode: number | null; signal: NodeJS.Signals | null } | undefined

  /** The process leads a group of its own, so that its children can be ended with it. */
  readonly spawn = ({ command, args, cwd, env, signal }: ProgramStart): ChildProcessWithoutNullStreams => {
    const child = spawn(command, args, {
      cwd,
      env: { ...env, [markVariable]: this.mark },
      signal,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child = child
    // The SDK of Claude and we wait for its end in more places than Node expects.
    child.setMaxListeners(50)
    child.stderr.setEncoding('utf8')
    child.stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrTailLength)
    })
    child.on('exit', (exitCode, exitSignal) => {
      this.#exit = { exitCode, signal: exitSignal }
    })
    child.on('error', () => undefined)
    return child
  }

  get ended(): boolean {
    return this.#exit !== undefined
  }

  /** Resolves when it has ended, or after `ms`. */
  gone(ms: number): Promise<void> {
    const child = this.#child
    if (!child || this.ended) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      child.once('exit', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** What there is to say of its end. */
  lastWords() {
    const stderrTail = this.#stderr.trim()
    return {
      ...(this.#exit && { exitCode: this.#exit.exitCode }),
      ...(this.#exit?.signal && { signal: this.#exit.signal }),
      ...(stderrTail !== '' && { stderrTail }),
    }
  }

  /** Ends by force the process and all that it started, wherever that runs by now. */
  killAll(): void {
    this.kill()
    endMarked(this.mark)
  }

  /** Ends the process and its group. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      this.#child?.kill(signal)
    }
  }
}
