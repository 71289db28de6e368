import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '../../core/agent-adapter.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { type Bench, onBench } from '../../testing/adapter-contract/bench.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { call, done } from '../../testing/model-answers.ts'
import { answerByPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { opencodeEnvironment, opencodeProgram } from '../../testing/opencode-environment.ts'
import { connectInput, readToEnd } from '../../testing/read-connection.ts'
import { createOpenCodeAdapter, type OpenCodeAdapterOptions } from './index.ts'

/** A model server, a home and a folder of programs. Disposing stops the servers and removes the home. */
export class OpenCodeUnderTest implements AsyncDisposable {
  readonly server: ModelServer
  readonly home = mkdtempSync(join(tmpdir(), 'parley-opencode-'))
  #shared: { adapter: AgentAdapter; leave: () => Promise<void> } | undefined

  private constructor(server: ModelServer) {
    this.server = server
  }

  static async start(): Promise<OpenCodeUnderTest> {
    const server = await startModelServer()
    answerByPrompt(server, /Parley was restarted/)
    return new OpenCodeUnderTest(server)
  }

  adapter(options: Partial<OpenCodeAdapterOptions> = {}): AgentAdapter {
    const env = opencodeEnvironment({ url: this.server.url, home: this.home })
    return createOpenCodeAdapter({ env, agentsFolder: testAgentsFolder(), ...options })
  }

  /**
   * A server ends with its last session. To spare each test a start, one session stays open until `leave`: the
   * sessions of this adapter share its server, one after another.
   */
  async stay(adapter: AgentAdapter = this.adapter()): Promise<AgentAdapter> {
    const connect = () => adapter.connect(connectInput({ cwd: this.home }))
    let over = false
    let current = await connect()
    const staying = (async () => {
      while (!over) {
        await readToEnd(current)
        if (!over) current = await connect()
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

  /** The adapter whose server stays, otherwise a new one. */
  get shared(): AgentAdapter {
    return this.#shared?.adapter ?? this.adapter()
  }

  /** A host with this agent, and the same again after a restart. */
  onBench(work: (bench: Bench) => Promise<void>, adapter: AgentAdapter = this.shared): Promise<void> {
    return onBench({ adapter: () => adapter, store: createMemoryStore }, adapter, work)
  }

  /** Writes a program, for `executable`. */
  script(name: string, lines: string): string {
    const folder = join(this.home, 'programs')
    mkdirSync(folder, { recursive: true })
    const path = join(folder, name)
    writeFileSync(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 })
    return path
  }

  /** The file that the lying proxy checks. */
  get lies(): string {
    return join(this.home, 'lies')
  }

  /** For `executable`: the real program behind a proxy that lies. */
  lying(lie: 'version' | 'rules' | 'late' | 'steer'): string {
    const proxy = join(import.meta.dirname, 'lying-proxy-under-test.ts')
    const node = `exec ${process.execPath} --conditions=source`
    return this.script(`lying-${lie}`, `${node} ${proxy} ${lie} ${this.lies} ${opencodeProgram()} "$@"`)
  }

  /** The ids of all processes with this home. */
  processes(): number[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return []
      try {
        const environment = readFileSync(`/proc/${name}/environ`, 'latin1')
        return environment.includes(`HOME=${this.home}\0`) ? [Number(name)] : []
      } catch {
        return []
      }
    })
  }

  /** Those with these words in their command line. */
  running(words: string): number[] {
    return this.processes().filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').includes(words)
      } catch {
        return false
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
    await this.server.stop()
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 })
  }
}

export const bash = (command: string, id = 'toolu_a') =>
  call('bash', { command, description: 'a command' }, id)
export { call, done }

export function gitInit(folder: string): void {
  execFileSync('git', ['init', '--quiet', folder])
}
