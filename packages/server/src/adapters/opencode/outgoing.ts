import { randomBytes } from 'node:crypto'
import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import { ParleyError, type PermissionMode, type SessionOptions, type SessionSettings } from '@parley/protocol'
import { type Introduction, planAgent } from './introduction.ts'
import type { NativeCommand, NativePromptPart } from './prompt.ts'
import type { NativeAgent } from './rules.ts'
import { type NativeModel, nativeModel } from './settings.ts'

const thrown = { throwOnError: true } as const

/** What is sent to OpenCode with each prompt: the agent, the model and the options. */
export class Outgoing {
  readonly #client: OpencodeClient
  readonly #sessionID: string
  readonly #introduction: Introduction
  #settings: SessionSettings

  constructor(
    client: OpencodeClient,
    sessionID: string,
    about: { introduction: Introduction; settings: SessionSettings },
  ) {
    this.#client = client
    this.#sessionID = sessionID
    this.#introduction = about.introduction
    this.#settings = about.settings
  }

  configure(settings: SessionSettings): void {
    this.#settings = { ...this.#settings, ...settings }
  }

  get mode(): PermissionMode {
    return this.#settings.mode ?? 'ask'
  }

  /** The agent for this mode. */
  get agent(): NativeAgent | undefined {
    return agentFor(this.#introduction, this.mode)
  }

  /** The effective options: without an effort that the model does not have. */
  get options(): SessionOptions | undefined {
    const { options } = this.#settings
    if (options?.effort === undefined || this.#hasEffort(options.effort)) return options
    const { effort: _, ...others } = options
    return others
  }

  /** A requested effort that the model does not have. */
  get missingEffort(): string | undefined {
    const effort = this.#settings.options?.effort
    return effort === undefined || this.#hasEffort(effort) ? undefined : effort
  }

  async prompt(messageID: string, parts: readonly NativePromptPart[]): Promise<void> {
    const { appendSystemPrompt, outputSchema } = this.options ?? {}
    const model = this.#chosenModel()
    await this.#client.session.promptAsync(
      {
        sessionID: this.#sessionID,
        messageID,
        parts: [...parts],
        ...(model && { model }),
        ...this.#how(),
        ...(appendSystemPrompt !== undefined && { system: appendSystemPrompt }),
        ...(outputSchema && { format: { type: 'json_schema', schema: outputSchema } }),
      },
      thrown,
    )
  }

  /** Resolves when the turn of the command is over. `used` is the model that answered last. */
  run(messageID: string, command: NativeCommand, used: string | undefined): Promise<void> {
    return command.name === 'compact' ? this.#compact(used) : this.#command(messageID, command)
  }

  async #command(messageID: string, { name, arguments: words, files }: NativeCommand): Promise<void> {
    const { model } = this.#settings
    this.#chosenModel()
    await this.#client.session.command(
      {
        sessionID: this.#sessionID,
        messageID,
        command: name,
        arguments: words,
        ...(model !== undefined && { model }),
        ...this.#how(),
        parts: files.filter((part) => part.type === 'file'),
      },
      thrown,
    )
  }

  async #compact(used: string | undefined): Promise<void> {
    const model = this.#chosenModel() ?? nativeModel(used ?? this.#introduction.defaultModel ?? '')
    await this.#client.session.summarize({ sessionID: this.#sessionID, ...model, auto: false }, thrown)
  }

  #how(): { agent?: string; variant?: string } {
    const { effort } = this.options ?? {}
    return {
      ...(this.mode === 'plan' && this.agent?.name === planAgent && { agent: planAgent }),
      ...(effort !== undefined && { variant: effort }),
    }
  }

  #chosenModel(): NativeModel | undefined {
    const { model } = this.#settings
    if (model === undefined) return undefined
    const native = nativeModel(model)
    if (native) return native
    const example = this.#introduction.models[0]?.id ?? 'provider/model'
    const message = `OpenCode names its models with their providers, such as ${example}; "${model}" is not such a name.`
    throw new ParleyError('validation_error', message)
  }

  #hasEffort(effort: string): boolean {
    const model = this.#settings.model ?? this.#introduction.defaultModel ?? ''
    return this.#introduction.efforts[model]?.includes(effort) ?? false
  }
}

/** The plan agent in plan mode, otherwise the person's default, which OpenCode lists first. */
export function agentFor(
  { agents }: Introduction,
  mode: PermissionMode | undefined,
): NativeAgent | undefined {
  const plan = mode === 'plan' ? agents.find(({ name }) => name === planAgent) : undefined
  return plan ?? agents.find((agent) => agent.mode !== 'subagent' && !agent.hidden)
}

export function newMessageId(): string {
  return `msg_${randomBytes(13).toString('hex')}`
}
