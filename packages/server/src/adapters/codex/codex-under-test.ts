import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { type Bench, onBench } from '../../testing/adapter-contract/bench.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { codexEnvironment, withNamespaces } from '../../testing/codex-environment.ts'
import { call } from '../../testing/model-answers.ts'
import { answerByPrompt, modelPrompt } from '../../testing/model-by-prompt.ts'
import { type ModelServer, startModelServer } from '../../testing/model-server.ts'
import { type CodexAdapterOptions, createCodexAdapter } from './index.ts'
import { programs, until } from './programs-under-test.ts'

export const agentsFolder = testAgentsFolder()
/** The path of the real program. */
export const codexProgram = join(agentsFolder, 'codex', 'node_modules', '.bin', 'codex')

export const run = (cmd: string) => call('exec_command', { cmd })
export const forever = (name: string) => run(`while true; do sleep 0.2; done; echo ${name}`)
export const hello = modelPrompt('Hello.', { content: 'Hello there.' })

type Options = Partial<CodexAdapterOptions> & { readonly retries?: number }

/** The real Codex with a home of its own, and a new model server for each test. */
export class CodexUnderTest {
  readonly home = mkdtempSync(join(tmpdir(), 'parley-codex-'))
  server!: ModelServer

  constructor() {
    beforeEach(async () => {
      this.server = await startModelServer()
      this.server.wire(withNamespaces)
    })
    afterEach(() => this.server.stop())
    afterAll(() => rmSync(this.home, { recursive: true, force: true, maxRetries: 5 }))
  }

  adapter({ retries = 0, ...more }: Options = {}) {
    const env = codexEnvironment({ url: this.server.url, home: this.home, retries })
    return createCodexAdapter({ env, agentsFolder, ...more })
  }

  /** Runs `work` on a bench with Codex, then waits until no process is left. */
  async play(work: (bench: Bench) => Promise<void>, options: Options = {}): Promise<void> {
    const world = { adapter: () => this.adapter(options), store: createMemoryStore }
    await onBench(world, world.adapter(), work)
    await until(() => programs().length === 0)
  }
}

/** A home, and one model server for all tests of a file, which responds as each prompt specifies. */
export class PromptedCodex {
  readonly home = realpathSync(mkdtempSync(join(tmpdir(), 'parley-codex-')))
  server!: ModelServer

  constructor() {
    beforeAll(async () => {
      this.server = await startModelServer()
      this.server.wire(withNamespaces)
      answerByPrompt(this.server, /Parley was restarted/)
    })
    afterAll(async () => {
      await this.server.stop()
      rmSync(this.home, { recursive: true, force: true, maxRetries: 5 })
    })
  }

  /** The environment of a program with this home, or with changes. */
  env(more: Partial<Parameters<typeof codexEnvironment>[0]> = {}) {
    return codexEnvironment({ url: this.server.url, home: this.home, ...more })
  }
}
