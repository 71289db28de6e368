import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Bench, childrenWith, onBench, SharedBench } from '@parley/adapter-kit/testing'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { AgentHome } from '../../testing/agent-home.ts'
import { testAgentsFolder } from '../../testing/agents-folder.ts'
import { contractHost } from '../../testing/contract-host.ts'
import { call, done } from '../../testing/model-answers.ts'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import type { ModelServer } from '../../testing/model-server.ts'
import { claudeAcp, createAcpAdapter, gemini } from './index.ts'
import { alive, treeOf } from './processes-under-test.ts'

export { call, done }
export const hello = modelPrompt('Hello.', { content: 'Hello there.' })

/**
 * For each real agent: its preset, its key variable, a part of its command line, and the model's tool call for a shell
 * command.
 */
export const agents = {
  gemini: {
    preset: gemini,
    key: 'GEMINI_API_KEY',
    program: 'bin/gemini',
    shell: (command: string) => call('run_shell_command', { command }),
  },
  'claude-acp': {
    preset: claudeAcp,
    key: 'ANTHROPIC_API_KEY',
    program: 'claude-agent-acp',
    shell: (command: string) => call('Bash', { command, description: 'as asked' }),
  },
}
export type AgentName = keyof typeof agents
export const agentNames = Object.keys(agents) as AgentName[]

/** A prompt to which the model always responds with this HTTP status; 0 breaks the connection. */
export const failing = (status: number) => `Please fail with ${status}.`

type Work = (bench: Bench, processes: () => number[]) => Promise<void>

/** The real programs, with their own home folder and one model server on loopback. */
export class AcpWorld {
  readonly #home: AgentHome

  private constructor(home: AgentHome) {
    this.#home = home
  }

  /** Creates the world for all tests of a file. */
  static async start(): Promise<AcpWorld> {
    return new AcpWorld(await AgentHome.forFile({ prepare: scriptFailures }))
  }

  get home(): string {
    return this.#home.path
  }

  adapter(name: AgentName, options: { executable?: string; env?: Record<string, string> } = {}) {
    const { preset } = agents[name]
    const { env = this.env(name), executable } = options
    const agentsFolder = testAgentsFolder()
    return createAcpAdapter(preset, { env, agentsFolder, ...(executable && { executable }) })
  }

  env(name: AgentName): Record<string, string> {
    return this.#home.env(name)
  }

  /** The variables of `env` without those for a sign-in. */
  signedOutEnv(name: AgentName): Record<string, string> {
    const { [agents[name].key]: _, ...env } = this.#home.env(name, { home: this.#home.folder('nobody') })
    return env
  }

  /** Writes a script in place of the real program. In `lines`, `$REAL` is the path of the real program. */
  wrapped(name: AgentName, lines: string): string {
    const { program, preset } = agents[name]
    const file = join(this.#home.folder('wrapped'), program)
    const real = join(testAgentsFolder(), name, 'node_modules/.bin', preset.command)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\nREAL=${real}\n${lines}\n`, { mode: 0o755 })
    return file
  }

  /** Runs `work` on a bench, then checks that the agent's processes have ended. */
  async play(name: AgentName, work: Work, options: Parameters<AcpWorld['adapter']>[1] = {}): Promise<void> {
    const adapter = () => this.adapter(name, options)
    const { processes, expectEnded } = watchProcesses(agents[name].program)
    await onBench({ adapter, host: contractHost }, adapter(), async (bench) => {
      await work(bench, processes)
      processes()
    })
    await expectEnded()
  }

  /**
   * Like `play`, but all tests of the calling `describe` block share sessions, so that the agent is started once. The
   * processes are checked after the last test.
   */
  playShared(name: AgentName): (work: Work) => Promise<void> {
    const { processes, expectEnded } = watchProcesses(agents[name].program)
    let bench: SharedBench
    beforeAll(async () => {
      bench = await SharedBench.open({ adapter: () => this.adapter(name), host: contractHost })
    })
    afterAll(async () => {
      await bench.expectValidLogs()
      await bench[Symbol.asyncDispose]()
      await expectEnded()
    })
    return (work) =>
      bench.run(async () => {
        await work(bench, processes)
        processes()
      })
  }
}

/** `processes` returns the running processes of a program. `expectEnded` waits until all of them have ended. */
function watchProcesses(program: string) {
  const seen = new Set<number>()
  return {
    processes() {
      const now = childrenWith(program).flatMap(treeOf)
      for (const pid of now) seen.add(pid)
      return now
    },
    async expectEnded() {
      await vi.waitFor(() => expect(alive([...seen])).toEqual([]), 5_000)
      await vi.waitFor(() => expect(childrenWith(program)).toEqual([]), 5_000)
    },
  }
}

function scriptFailures(model: ModelServer): void {
  const errors = { 429: 'Too many requests.', 500: 'The service is down.' }
  for (const [status, message] of Object.entries(errors)) {
    const response = { error: { message, type: 'error' }, status: Number(status) }
    model.script(isAsked(failing(Number(status))), Array(100).fill({ response }))
  }
  const cut = { response: { content: 'This answer is cut off.' }, truncateAfterChunks: 3, latency: 20 }
  model.script(isAsked(failing(0)), Array(100).fill(cut))
}

/**
 * Matches a request whose last message contains these words, unless the message also contains a prompt with scripted
 * answers. An agent may repeat an unanswered prompt in the message of the next prompt.
 */
function isAsked(words: string) {
  return ({ messages }: { messages: readonly { content?: unknown }[] }) => {
    const last = JSON.stringify(messages.at(-1)?.content ?? '')
    return last.includes(words) && !last.includes('<<model')
  }
}
