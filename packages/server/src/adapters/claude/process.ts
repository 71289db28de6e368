import { type ChildProcess, spawn } from 'node:child_process'
import type { SpawnOptions } from '@anthropic-ai/claude-agent-sdk'

const stderrTailLength = 4_000

/** The Claude Code process of one connection: what it says on stderr, how it ended, and an end by force. */
export class ClaudeProcess {
  #child: ChildProcess | undefined
  #stderr = ''
  #exit: { exitCode: number | null; signal: NodeJS.Signals | null } | undefined

  /** Given to the SDK. The process leads a group of its own, so that its children can be ended with it. */
  readonly spawn = ({ command, args, cwd, env, signal }: SpawnOptions) => {
    const child = spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    this.#child = child
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

  /** Ends the process and everything it started. */
  kill(): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      this.#child?.kill('SIGKILL')
    }
  }
}
