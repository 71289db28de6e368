import { join } from 'node:path'
import { type Bench, onBench } from '@parley/adapter-kit/testing'
import type { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelServer } from '../../testing/model-server.ts'
import { type CodexAdapterOptions, createCodexAdapter } from './index.ts'
import { programs, until } from './programs-under-test.ts'

export const agentsFolder = testAgentsFolder()
export const codexProgram = join(agentsFolder, 'codex', 'node_modules', '.bin', 'codex')

export const run = (cmd: string) => call('exec_command', { cmd })
export const forever = (name: string) => run(`while true; do sleep 0.2; done; echo ${name}`)
export const hello = modelPrompt('Hello.', { content: 'Hello there.' })

type Options = Partial<CodexAdapterOptions> & { readonly retries?: number }

/** The real Codex in a home. Each test scripts the answers of its model. */
export class CodexUnderTest {
  readonly #home: AgentHome

  constructor(home: AgentHome) {
    this.#home = home
  }

  get home(): string {
    return this.#home.path
  }

  get server(): ModelServer {
    return this.#home.model
  }

  adapter({ retries = 0, ...more }: Options = {}) {
    const env = this.#home.env('codex', { retries })
    return createCodexAdapter({ env, agentsFolder, ...more })
  }

  /** Runs `work` on a bench with Codex, then waits until no process is left. */
  async play(work: (bench: Bench) => Promise<void>, options: Options = {}): Promise<void> {
    const world = { adapter: () => this.adapter(options), host: contractHost }
    await onBench(world, world.adapter(), work)
    await until(() => programs().length === 0)
  }
}
