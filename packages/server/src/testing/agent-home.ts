import { processesIn } from '@parley/adapter-kit/testing'
import { claudeEnvironment } from './claude-environment.ts'
import { type CodexSetup, codexEnvironment, withNamespaces } from './codex-environment.ts'
import { geminiEnvironment } from './gemini-environment.ts'
import { answerByPrompt } from './model-by-prompt.ts'
import { type ModelServer, startModelServer } from './model-server.ts'
import { opencodeEnvironment } from './opencode-environment.ts'
import { afterAll, beforeEach, onTestFinished } from './peers.ts'
import { qwenEnvironment } from './qwen-environment.ts'
import { TemporaryFolder } from './temporary-folder.ts'

const environments = {
  claude: claudeEnvironment,
  codex: codexEnvironment,
  opencode: opencodeEnvironment,
  gemini: geminiEnvironment,
  'claude-acp': claudeEnvironment,
  qwen: qwenEnvironment,
}

type AgentHomeOptions = {
  /**
   * `prompt`: every prompt contains the answers of the model (`modelPrompt`). `script`: each test scripts the answers.
   * The default is `prompt`.
   */
  readonly answers?: 'prompt' | 'script'
  /** Adds scripts that take precedence over the answers in prompts. */
  readonly prepare?: (model: ModelServer) => void
}

const endMs = 30_000

/**
 * A temporary home for real agents, with a scripted model on loopback. Disposing it stops the model, waits until
 * every process with this home has ended, and removes the home; it throws if a process is left.
 */
export class AgentHome implements AsyncDisposable {
  readonly model: ModelServer
  readonly #folder = new TemporaryFolder()

  private constructor(model: ModelServer) {
    this.model = model
  }

  static async open({ answers = 'prompt', prepare }: AgentHomeOptions = {}): Promise<AgentHome> {
    const model = await startModelServer()
    model.wire(withNamespaces)
    prepare?.(model)
    if (answers === 'prompt') answerByPrompt(model)
    return new AgentHome(model)
  }

  /**
   * A home for all tests of the file that calls this at its top level. The scripts of the model are removed after
   * each test.
   */
  static async forFile(options: AgentHomeOptions = {}): Promise<AgentHome> {
    const home = await AgentHome.open(options)
    if (options.answers === 'script')
      beforeEach(() => {
        home.model.forget()
        home.model.wire(withNamespaces)
      })
    afterAll(() => home[Symbol.asyncDispose](), 2 * endMs)
    return home
  }

  /**
   * A home for the running test. It is closed after the handlers that the test later registers with `onTestFinished`.
   */
  static async forTest(options: AgentHomeOptions = {}): Promise<AgentHome> {
    const home = await AgentHome.open(options)
    onTestFinished(() => home[Symbol.asyncDispose](), 2 * endMs)
    return home
  }

  get path(): string {
    return this.#folder.path
  }

  /** The path of a new, empty folder in the home. */
  folder(name?: string): string {
    return this.#folder.folder(name)
  }

  /** The environment of an agent in this home, with placeholder keys, isolated from this machine. */
  env(agent: keyof typeof environments, changes: Partial<CodexSetup> = {}): Record<string, string> {
    return environments[agent]({ url: this.model.url, home: this.path, ...changes })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.model.stop()
    const left = await remaining(() => processesIn(this.path))
    this.#folder[Symbol.dispose]()
    if (left.length > 0) throw new Error(`These processes did not end:\n${left.join('\n')}`)
  }
}

/** The command lines of the processes that did not end within the time limit and were killed. */
async function remaining(find: () => { pid: number; line: string }[]): Promise<string[]> {
  const deadline = Date.now() + endMs
  for (;;) {
    const left = find()
    if (left.length === 0) return []
    if (Date.now() > deadline) {
      for (const { pid } of left) process.kill(pid, 'SIGKILL')
      return left.map(({ line }) => line)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
