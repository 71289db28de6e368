import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { endMarked, markVariable } from './marked-processes.ts'

const stderrTailLength = 4_000

export type ProgramStart = {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal?: AbortSignal | undefined
}

/** The process of an agent. Stores the end of stderr and the exit status, and can kill the process. */
export class AgentProcess {
  /** The value of the mark variable in the environment of the process and of its descendants. */
  readonly mark = randomUUID()
  #child: ChildProcessWithoutNullStreams | undefined
  #stderr = ''
  #exit: { exitCode: number | null; signal: NodeJS.Signals | null } | undefined

  /** Starts the process as the leader of a new process group, so that its children can be killed with it. */
  readonly spawn = ({ command, args, cwd, env, signal }: ProgramStart): ChildProcessWithoutNullStreams => {
    const child = spawn(command, args, {
      cwd,
      env: { ...env, [markVariable]: this.mark },
      signal,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child = child
    // The Claude SDK and this code together add more listeners than Node's default limit.
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

  /** Resolves when the process has ended, or after `ms`. */
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

  exitDetails() {
    const stderrTail = this.#stderr.trim()
    return {
      ...(this.#exit && { exitCode: this.#exit.exitCode }),
      ...(this.#exit?.signal && { signal: this.#exit.signal }),
      ...(stderrTail !== '' && { stderrTail }),
    }
  }

  /** Kills the process and all its descendants, including those in other process groups. */
  killAll(): void {
    this.kill()
    endMarked(this.mark)
  }

  /** Signals the process and its group. */
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
