import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { processesIn } from '@parley/adapter-kit/testing'
import { expect } from 'vitest'
import { randomFrom } from '../testing/random-from.ts'

/** The seed of the moments at which the tests of folders kill processes. */
export const killSeed = Number(process.env.PARLEY_KILL_SEED ?? Date.now() % 1_000_000)

export type Killing = {
  /** A file of this folder, which writes a line when it begins. */
  readonly program: string
  /** The folders in which the program and the git that it starts work. */
  readonly folders: readonly string[]
  /** The text that the program writes when it has done everything once. Absent: the program ends at that point. */
  readonly whole?: string
  readonly env?: NodeJS.ProcessEnv
}

/** Kills a program again and again, at moments that are distributed over the time that its whole work takes. */
export class KilledProgram {
  readonly #killing: Killing
  readonly #random = randomFrom(killSeed)
  #wholeMs: number | undefined

  constructor(killing: Killing) {
    this.#killing = killing
  }

  /**
   * Runs the program, and kills it; the first time, when its work is done. With `also`, the git that it has started is
   * killed too, while it writes a file. Returns what the program has written.
   */
  async run(given: readonly string[], also?: 'git'): Promise<string> {
    const { program, folders, env = process.env, whole } = this.#killing
    const file = fileURLToPath(new URL(program, import.meta.url))
    const args = ['--conditions=source', '--disable-warning=ExperimentalWarning', file, ...given]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
    let said = ''
    const closed = once(child, 'close')
    const done = Promise.withResolvers<void>()
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (whole !== undefined && said.includes(whole)) done.resolve()
    })
    await once(child.stdout, 'data')
    const start = performance.now()
    if (this.#wholeMs === undefined) {
      await Promise.race([done.promise, closed])
      this.#wholeMs = performance.now() - start
    }
    // The kill may come before the program has done anything.
    else await setTimeout(this.#random() * this.#wholeMs * 1.1)
    child.kill('SIGKILL')
    await closed
    const left = () => folders.flatMap((folder) => processesIn(folder))
    if (also) for (const { pid } of left()) kill(pid)
    // A git that the killed process has started continues for a moment.
    await expect.poll(left, { timeout: 20_000 }).toEqual([])
    return said
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // The process has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
