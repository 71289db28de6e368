import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { type Bench, connectInput, onBench, processesIn, readToEnd } from '@parley/adapter-kit/testing'
import { afterAll } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import type { ModelServer } from '../../testing/model-server.ts'
import { opencodeProgram } from '../../testing/opencode-environment.ts'
import { createOpenCodeAdapter, type OpenCodeAdapterOptions } from './index.ts'

/** A model server, a home and a folder of programs. Disposing it ends the shared server and closes the home. */
export class OpenCodeUnderTest implements AsyncDisposable {
  readonly #home: AgentHome
  #shared: { adapter: AgentAdapter; leave: () => Promise<void> } | undefined

  private constructor(home: AgentHome) {
    this.#home = home
  }

  /** Creates a home for all tests of the file that calls this at its top level. */
  static async forFile(): Promise<OpenCodeUnderTest> {
    const world = new OpenCodeUnderTest(await AgentHome.open())
    afterAll(() => world[Symbol.asyncDispose]())
    return world
  }

  get home(): string {
    return this.#home.path
  }

  /** The path of a new, empty folder in the home. */
  folder(name: string): string {
    return this.#home.folder(name)
  }

  get server(): ModelServer {
    return this.#home.model
  }

  adapter(options: Partial<OpenCodeAdapterOptions> = {}): AgentAdapter {
    return createOpenCodeAdapter({
      env: this.#home.env('opencode'),
      agentsFolder: testAgentsFolder(),
      ...options,
    })
  }

  /**
   * Starts the shared server, so that not every test starts its own. A server ends with its last session, so one
   * session is kept open until `leave`. The sessions of the adapter use this server one after another.
   */
  async stay(adapter: AgentAdapter = this.adapter()): Promise<AgentAdapter> {
    const connect = () => adapter.connect(connectInput({ cwd: this.home }))
    let over = false
    let current = await connect()
    const staying = (async () => {
      while (!over) {
        await readToEnd(current)
        if (!over) current = await again(connect)
      }
    })()
    const leave = async () => {
      over = true
      await current.close()
      await staying
    }
    this.#shared = { adapter, leave }
    return adapter
  }

  async leave(): Promise<void> {
    await this.#shared?.leave()
    this.#shared = undefined
  }

  /** The adapter of the shared server, or a new adapter if there is none. */
  get shared(): AgentAdapter {
    return this.#shared?.adapter ?? this.adapter()
  }

  /**
   * Empties and returns the folder of all sessions of the shared server. OpenCode would load its settings and tools
   * again for each further folder.
   */
  sharedFolder(): string {
    const path = join(this.home, 'work')
    mkdirSync(path, { recursive: true })
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true })
    return path
  }

  /** Runs `work` on a host with this adapter, which is also used after a restart. */
  onBench(work: (bench: Bench) => Promise<void>, adapter: AgentAdapter = this.shared): Promise<void> {
    const folder = adapter === this.#shared?.adapter && { folder: async () => this.sharedFolder() }
    return onBench({ adapter: () => adapter, host: contractHost, ...folder }, adapter, work)
  }

  /** Writes a program, to be used as `executable`. Returns its path. */
  script(name: string, lines: string): string {
    const folder = join(this.home, 'programs')
    mkdirSync(folder, { recursive: true })
    const path = join(folder, name)
    writeFileSync(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 })
    return path
  }

  /** The file that selects the fault of the faulty proxy. */
  get faultsFile(): string {
    return join(this.home, 'lies')
  }

  /** Returns the path of a program, to be used as `executable`, that runs OpenCode behind the faulty proxy. */
  faulty(fault: 'version' | 'rules' | 'late' | 'steer'): string {
    const proxy = join(import.meta.dirname, 'faulty-proxy-under-test.ts')
    const node = `exec ${process.execPath} --conditions=source`
    return this.script(
      `lying-${fault}`,
      `${node} ${proxy} ${fault} ${this.faultsFile} ${opencodeProgram()} "$@"`,
    )
  }

  /** The ids of all processes with this home. */
  processes(): number[] {
    return processesIn(this.home).map(({ pid }) => pid)
  }

  /** The ids of the processes with this home and these words in their command line. */
  running(words: string): number[] {
    return processesIn(this.home).flatMap(({ pid, line }) => (line.includes(words) ? [pid] : []))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
    await this.#home[Symbol.asyncDispose]()
  }
}

export const bash = (command: string, id = 'toolu_a') =>
  call('bash', { command, description: 'a command' }, id)
export { call, done }

export function gitInit(folder: string): void {
  execFileSync('git', ['init', '--quiet', folder])
}

const attempts = 20

/** The first attempts may still reach the server that a test has killed. */
async function again<Result>(connect: () => Promise<Result>): Promise<Result> {
  for (let made = 1; ; made++) {
    try {
      return await connect()
    } catch (error) {
      if (made === attempts) throw error
    }
  }
}
