import type {
  Answers,
  Capabilities,
  ErrorCode,
  McpServers,
  NewSessionInput,
  PermissionMode,
  PromptPart,
  Question,
  SessionOptions,
} from '@parley/protocol'
import type { AgentAdapter } from '../../agent-adapter.ts'
import type { ContractHosts } from '../host.ts'

/**
 * The description of an agent for the contract suite: its capabilities, the function that creates it, and the prompt
 * for each case. Scenarios are data where possible, so that a scripted model can be set up from them.
 */
export type ContractSetup = {
  readonly capabilities: Capabilities
  /** Called once for the suite, before anything else. */
  start(): Promise<ContractWorld>
  readonly scenarios: Scenarios
  /** The time limit of one case; an agent with a process of its own needs more time. */
  readonly timeoutMs?: number
}

export type ContractWorld = {
  /** Creates an adapter for a host. All adapters drive the same agent and can resume each other's sessions. */
  adapter(): AgentAdapter
  /** Makes the hosts on which the cases run: `contractHost` of @parley/server/testing. */
  readonly host: ContractHosts
  /** A new folder for a session; by default, a temporary folder. */
  folder?(): Promise<string>
  stop?(): Promise<void>
}

export type Words = string | readonly PromptPart[]
/** A prompt, and the session settings that it needs. */
export type Scenario = {
  readonly prompt: Words
  readonly session?: Partial<Pick<NewSessionInput, 'model' | 'mode' | 'options'>>
}
/** The turn's text must contain `says`. */
export type Saying = Scenario & { readonly says: string }
/** The second prompt asks for a fact from the first prompt. */
export type Memory = { readonly first: Words; readonly second: Words; readonly says: string }
/** Two facts that prompts state, and a prompt that asks for everything said so far. The answer contains known facts. */
export type Recall = {
  readonly facts: readonly [Fact, Fact]
  readonly recall: Words
}
export type Fact = { readonly prompt: Words; readonly says: string }
/** A conversation that continues in the agent's own program. */
export type Rejoining = {
  /** Sends this prompt in the agent's own program, in the session's folder, and resolves with the answer. */
  speak(agentSessionId: string, folder: string, words: string): Promise<string>
  /** A prompt with this text, which the agent answers with `answer`. */
  tell(words: string, answer: string): string
  /** A prompt with this text, which the agent answers with all words that it has received. */
  recall(words: string): string
  /** Set if the agent locks a conversation that is open in Parley. Parley must release such a conversation first. */
  readonly locks?: true
}
/** A file of the session's folder that the tool call writes; `text` is its whole content. */
export type FileEffect = { readonly path: string; readonly text: string }

/**
 * The scenarios that every agent must demonstrate. A scenario that is not possible with an agent is left out with its
 * reason.
 */
export type GeneralScenarios = {
  readonly text: Saying
  /** A call that runs; the permissions that it asks for are allowed. */
  readonly toolCall: Scenario | NotPossible
  /**
   * Replaces `two` by `2` in `poem.txt`, which has the lines one, two and three, with the agent's own file tool.
   * `folder` is the session's folder.
   */
  readonly edit: { prompt(folder: string): Words; readonly session?: Scenario['session'] } | NotPossible
  /** A turn that continues until it is stopped. */
  readonly busy: Scenario
  /**
   * A turn during which the agent's process dies: by itself, or when `kill` is called. With `kill`, the process is
   * also killed in the middle of the cases that allow it; if there is no process yet, `kill` waits for it.
   */
  readonly crash: (Scenario & { readonly kill?: () => Promise<void> }) | NotPossible
  /** A native message that the adapter does not know. */
  readonly unrecognised: Scenario | NotPossible
  /** An adapter of an agent that cannot be started, and the code of the refusal. */
  readonly unstartable: { adapter(): AgentAdapter; readonly code: ErrorCode }
}
export type NotPossible = { readonly notPossible: string }

/**
 * Work that continues after its turn has ended. It waits for the file `go`, so that a case decides when the work
 * continues.
 */
export type BackgroundScenario = {
  /**
   * A task asks for the permission to write `effect`. When the task has ended, the agent writes the text `says` by
   * itself, even if the prompt `meanwhile` ran before that.
   */
  asks(go: string): Saying & { readonly effect: FileEffect; readonly meanwhile: Saying }
  /**
   * A task that needs no permission. When it has ended, the agent writes the text `says` by itself. If `report` is
   * given, the agent first waits until that file exists.
   */
  runs(go: string, report?: string): Saying
}

/** The scenario of each capability. An agent must demonstrate the capabilities that it declares. */
export type CapabilityScenarios = {
  readonly streaming: Scenario
  readonly thinking: Scenario
  readonly toolInputStreaming: Scenario
  readonly toolOutputStreaming: Scenario
  readonly permissions: Scenario & { readonly effect: FileEffect }
  readonly editInput: Scenario & { readonly input: unknown; readonly effect: FileEffect }
  readonly questions: Saying & { answers(questions: readonly Question[]): Answers }
  readonly plan: Scenario
  readonly planApproval: Scenario
  readonly subagents: Scenario
  readonly background: BackgroundScenario
  readonly images: Saying
  readonly files: Saying
  readonly resume: Memory
  readonly fork: Memory
  readonly forkBefore: Recall
  readonly forkElsewhere: Memory & { readonly writes: Scenario & { readonly effect: FileEffect } }
  /**
   * `calls`: a path. If the agent is asked aside about this path, it calls a tool for `effect` and then says what it
   * knows.
   */
  readonly aside: Omit<Recall, 'facts'> & {
    readonly fact: Fact
    readonly calls: string
    readonly effect: FileEffect
  }
  /** The scenario `busy` demonstrates this capability. */
  readonly interrupt: Record<never, never>
  /** `release` lets the turn continue to its end after the turn was steered. */
  readonly steer: Saying & {
    readonly words: string
    release?(): void
    /**
     * The agent writes the text `says` once the file `go` exists and `release` was called. It answers a steered prompt
     * `words` with `answer`. With this scenario, the suite steers prompts at more points of a turn.
     */
    late?(go: string): Saying & { readonly words: string; readonly answer: string; release?(): void }
  }
  readonly models: { readonly model: string }
  readonly effort: { readonly effort: string }
  readonly modes: { readonly mode: PermissionMode }
  readonly mcp: Saying & { readonly servers: McpServers }
  /** A prompt that makes the agent call the given host tool with the given input, and then end its turn. */
  readonly hostTools: {
    prompt(call: { readonly name: string; readonly input: unknown }): Words
    readonly session?: Scenario['session']
  }
  readonly commands: Saying & { readonly command: string }
  readonly compaction: Record<never, never>
  readonly usage: Scenario
  readonly cost: Scenario
  readonly structuredOutput: Scenario & {
    readonly schema: NonNullable<SessionOptions['outputSchema']>
    readonly value: unknown
  }
  readonly retraction: Scenario
  /** A call that writes the variable CONTRACT_WORD and a newline to the file `word.txt`. */
  readonly environment: Scenario
  readonly rejoin: Rejoining
}

export type Scenarios = GeneralScenarios & Partial<CapabilityScenarios>
