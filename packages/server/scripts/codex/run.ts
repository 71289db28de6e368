import { randomUUID } from 'node:crypto'
import type { ConnectInput } from '@parley/adapter-kit'
import { connectInput } from '@parley/adapter-kit/testing'
import type { SessionSettings } from '@parley/protocol'
import { AppServer } from '../../src/adapters/codex/app-server.ts'
import { openThread } from '../../src/adapters/codex/conversation.ts'
import type { NativeItem, NativeMessage, NativeThreadOpened } from '../../src/adapters/codex/native.ts'
import { turnParams } from '../../src/adapters/codex/settings.ts'
import { SeenMessages } from '../model-answers.ts'

export type Line = NativeMessage | { readonly sent: string; readonly toolCallId?: string }
export type Answer = (request: NativeMessage) => unknown

export type RunOptions = {
  readonly program: string
  readonly env: Record<string, string>
  readonly cwd: string
  readonly settings?: SessionSettings
  readonly input?: Partial<ConnectInput>
  readonly answer?: Answer
}

const accept: Answer = ({ method }) =>
  method.startsWith('mcpServer/') ? { action: 'accept', content: {}, _meta: null } : { decision: 'accept' }

/** One program with one conversation. Records its messages and the requests to it, in order. */
export class CodexRun implements AsyncDisposable {
  readonly #server: AppServer
  readonly #opened: NativeThreadOpened
  readonly #options: RunOptions
  readonly #take: (line: Line) => void
  readonly #seen = new SeenMessages<NativeMessage>()
  turnId = ''

  private constructor(
    parts: { server: AppServer; opened: NativeThreadOpened },
    options: RunOptions,
    take: (line: Line) => void,
  ) {
    this.#server = parts.server
    this.#opened = parts.opened
    this.#options = options
    this.#take = take
    const { id: threadId, sessionId = threadId } = parts.opened.thread
    // A check that allows every call: without a check, the hook refuses the calls of a conversation.
    this.#server.hookServer.join({ threadId, sessionId, check: async () => undefined })
    this.#server.claim(threadId, this)
  }

  static async start(options: RunOptions, take: (line: Line) => void): Promise<CodexRun> {
    const server = await AppServer.start(options)
    const { cwd, settings = {}, input } = options
    const opened = await openThread(server, connectInput({ cwd, settings, ...input }))
    return new CodexRun({ server, opened }, options, take)
  }

  get threadId(): string {
    return this.#opened.thread.id
  }

  receive(message: NativeMessage): void {
    this.#take(message)
    for (const threadId of subagentsIn(message)) this.#server.claim(threadId, this)
    if ('id' in message) void this.#reply(message)
    this.#seen.add(message)
  }

  lost(): void {
    this.#seen.end()
  }

  async #reply(message: NativeMessage & { id: string | number }): Promise<void> {
    const answer = await (this.#options.answer ?? accept)(message)
    if (answer === undefined) return
    const { itemId } = message.params as { itemId?: string }
    const { decision, action } = answer as { decision?: string; action?: string }
    if ([decision, action].some((one) => one === 'decline' || one === 'cancel'))
      this.#take({ sent: 'denied', ...(itemId !== undefined && { toolCallId: itemId }) })
    this.#server.respond(message.id, answer)
  }

  /** Sends a prompt. Resolves when its turn has started. */
  async say(text: string, more: object = {}): Promise<void> {
    const { sandbox, model } = this.#opened
    const { settings = {}, cwd } = this.#options
    const params = turnParams(settings, { cwd, model, sandbox, wasPlan: false })
    const { turn } = await this.call<{ turn: { id: string } }>('turn/start', {
      clientUserMessageId: randomUUID(),
      input: [{ type: 'text', text, text_elements: [] }],
      ...params,
      ...more,
    })
    this.turnId = turn.id
  }

  /** Sends a prompt and waits for the end of its turn. */
  async turn(text: string, more: object = {}): Promise<void> {
    await this.ending(() => this.say(text, more))
  }

  /** Runs `work`, and waits until a turn has ended after it. */
  async ending(work: () => Promise<unknown>): Promise<void> {
    const ends = this.#ends()
    await work()
    await this.until(() => this.#ends() > ends)
  }

  call<Result>(method: string, params: object = {}): Promise<Result> {
    return this.#server.call(method, { threadId: this.threadId, ...params })
  }

  async interrupt(): Promise<void> {
    this.#take({ sent: 'interrupt' })
    await this.call('turn/interrupt', { turnId: this.turnId })
  }

  until(holds: (messages: readonly NativeMessage[]) => boolean): Promise<void> {
    return this.#seen.until(holds)
  }

  /** Resolves when an item of this type has started. */
  item(type: string): Promise<void> {
    return this.until((messages) => messages.some(({ params }) => itemIn(params)?.type === type))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close()
  }

  #ends(): number {
    return this.#seen.count(
      ({ method, params }) =>
        method === 'turn/completed' && (params as { threadId: string }).threadId === this.threadId,
    )
  }
}

function itemIn(params: unknown): NativeItem | undefined {
  return (params as { item?: NativeItem } | undefined)?.item
}

function subagentsIn({ params }: NativeMessage): readonly string[] {
  const item = itemIn(params)
  if (item?.type === 'subAgentActivity') return [item.agentThreadId]
  return item?.type === 'collabAgentToolCall' ? item.receiverThreadIds : []
}
