import type { OpencodeClient, PermissionRequest } from '@opencode-ai/sdk/v2/client'
import { sessionRules } from '../../src/adapters/opencode/rules.ts'
import { OpenCodeServer } from '../../src/adapters/opencode/server.ts'
import { serverEnvironment } from '../../src/adapters/opencode/settings.ts'
import { opencodeProgram } from '../../src/testing/opencode-environment.ts'

/**
 * The lines of a recording that are not events. They mark the points at which a prompt or an interrupt was sent to
 * OpenCode.
 */
export type Marker =
  | { readonly type: 'parley.turn'; readonly at: number }
  | { readonly type: 'parley.steer'; readonly messageID: string }
  | { readonly type: 'parley.interrupt' }
type NativeEvent = { readonly type: string; readonly properties: Record<string, unknown> }
export type Reply = { readonly reply: 'once' | 'reject'; readonly message?: string } | 'wait'
type PromptOptions = Partial<Parameters<OpencodeClient['session']['promptAsync']>[0]>

/** Events whose order and number differ between runs. */
const noise = /^(plugin\.added|catalog\.|integration\.|reference\.|server\.|file\.watcher\.)/
const thrown = { throwOnError: true } as const

/** One session on a server of its own. Records every event of the server. */
export class OpenCodeRun {
  readonly #server = new OpenCodeServer()
  readonly #reading = new AbortController()
  readonly #keep: (line: unknown) => void
  readonly #checks = new Set<(event: NativeEvent) => void>()
  #client: OpencodeClient | undefined
  sessionID = ''
  /** The answer to each permission request. */
  reply: (request: PermissionRequest) => Reply = () => ({ reply: 'once' })

  constructor(keep: (line: unknown) => void) {
    this.#keep = keep
  }

  get client(): OpencodeClient {
    if (!this.#client) throw new Error('it was not started')
    return this.#client
  }

  async start(env: Record<string, string>, cwd: string, resume?: string): Promise<void> {
    await this.#server.start({ program: opencodeProgram(), env: serverEnvironment(env, { trusted: true }) })
    this.#client = this.#server.client(cwd)
    const { data: agents } = await this.client.app.agents({}, thrown)
    const permission = sessionRules(agents.find(({ name }) => name === 'build'))
    const connected = this.until(({ type }) => type === 'server.connected')
    void this.#read()
    await connected
    this.sessionID =
      resume ?? (await this.client.session.create({ title: 'Parley', permission }, thrown)).data.id
  }

  /** Sends a prompt and waits for the end of its turn. */
  async turn(text: string, more: PromptOptions = {}): Promise<void> {
    const over = this.over()
    await this.prompt(text, more)
    await over
  }

  async prompt(text: string, more: PromptOptions = {}): Promise<void> {
    this.#keep({ type: 'parley.turn', at: Date.now() } satisfies Marker)
    await this.#send(text, more)
  }

  async steer(text: string): Promise<void> {
    const messageID = 'msg_steering'
    this.#keep({ type: 'parley.steer', messageID } satisfies Marker)
    await this.#send(text, { messageID })
  }

  /** Runs a turn that `work` starts, and waits for its end. */
  async other(work: (client: OpencodeClient, sessionID: string) => Promise<unknown>): Promise<void> {
    const over = this.over()
    this.#keep({ type: 'parley.turn', at: Date.now() } satisfies Marker)
    await work(this.client, this.sessionID)
    await over
  }

  async interrupt(): Promise<void> {
    const over = this.over()
    this.#keep({ type: 'parley.interrupt' } satisfies Marker)
    await this.client.session.abort({ sessionID: this.sessionID }, thrown)
    await over
  }

  /** Resolves at the end of a turn, after the events that OpenCode sends shortly after it. */
  async over(): Promise<void> {
    let open = false
    await this.until(({ type, properties }) => {
      const info = properties.info as { sessionID?: string; role?: string; time?: { completed?: number } }
      if (type === 'message.updated' && info.sessionID === this.sessionID && info.role === 'assistant') {
        open = info.time?.completed === undefined
      }
      return type === 'session.idle' && properties.sessionID === this.sessionID && !open
    })
    await new Promise((resolve) => setTimeout(resolve, 500))
  }

  until(found: (event: NativeEvent) => boolean): Promise<NativeEvent> {
    return new Promise((resolve) => {
      const check = (event: NativeEvent) => {
        if (!found(event)) return
        this.#checks.delete(check)
        resolve(event)
      }
      this.#checks.add(check)
    })
  }

  /** Resolves with the first event of a part for which `found` is true. */
  untilPart(found: (part: Record<string, unknown>) => boolean): Promise<NativeEvent> {
    return this.until(
      ({ type, properties }) =>
        type === 'message.part.updated' && found(properties.part as Record<string, unknown>),
    )
  }

  async stop(): Promise<void> {
    this.#reading.abort()
    await this.#server.end()
  }

  async #send(text: string, more: PromptOptions): Promise<void> {
    const parts = [{ type: 'text' as const, text }]
    await this.client.session.promptAsync({ sessionID: this.sessionID, parts, ...more }, thrown)
  }

  async #read(): Promise<void> {
    const { signal } = this.#reading
    const { stream } = await this.client.event.subscribe({}, { signal, sseMaxRetryAttempts: 1 })
    for await (const native of stream) {
      const event = native as NativeEvent
      if (!noise.test(event.type)) this.#keep(event)
      for (const check of [...this.#checks]) check(event)
      if (event.type === 'permission.asked') this.#answer(event.properties as unknown as PermissionRequest)
    }
  }

  #answer(request: PermissionRequest): void {
    const reply = this.reply(request)
    if (reply !== 'wait') void this.client.permission.reply({ requestID: request.id, ...reply })
  }
}
