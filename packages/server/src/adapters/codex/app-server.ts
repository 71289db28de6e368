import type { AgentProcess } from '@parley/adapter-kit/child-process'
import { type JsonRpcId, methodNotFound } from '@parley/adapter-kit/json-rpc'
import { resolvesWithin } from '@parley/adapter-kit/time-limit'
import type { AgentModel } from '@parley/protocol'
import { HookServer } from './hook-server.ts'
import { type NativeMessage, unintelligible } from './native.ts'
import { isOwnHook, type NativeHook } from './native-hook.ts'
import { type RunningProgram, startSignedIn } from './program.ts'
import type { NativeConfig } from './settings.ts'

export type AppServerOptions = {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
  readonly startMs?: number | undefined
  /** Advice on installing a version that works. */
  readonly installAdvice?: string | undefined
}

/** Receives the messages of a conversation and its subagents, and those for all conversations. */
export type Listener = {
  receive(message: NativeMessage): void
  /** Called when the program has ended, with its last output. */
  lost(details: ExitDetails): void
}
export type ExitDetails = ReturnType<AgentProcess['exitDetails']>

/** The time limits for the program to exit on request, and to unload a conversation. */
const exitMs = 1_500
const unloadMs = 5_000
const maxKept = 1_000
/** The maximum numbers of unclaimed threads whose messages are stored, and of threads whose listener has left. */
const maxUnclaimed = 100
const maxLeft = 1_000
/** A program that sends nothing for this long after a liveness check is considered hung. */
const silenceMs = 4_000

/** The program `codex app-server`, which serves many conversations. Routes messages between it and the listeners. */
export class AppServer {
  readonly version: string
  readonly hookServer: HookServer
  /** Resolves when the program has ended and every listener has been notified. */
  readonly gone: Promise<void>
  readonly #program: RunningProgram
  readonly #listeners = new Map<string, Listener>()
  /** Messages of threads that no listener has claimed: a subagent may send messages before its call has ended. */
  readonly #unclaimed = new Map<string, NativeMessage[]>()
  /** Threads whose listener has left. Their messages are dropped. */
  readonly #left = new Set<string>()
  /** Threads that are being unloaded. They cannot be opened again before they are unloaded. */
  readonly #closing = new Map<string, PromiseWithResolvers<void>>()
  /** Messages for all listeners, including later ones. */
  readonly #standing: NativeMessage[] = []
  /** Output that arrived before the first listener, kept for that listener. */
  #unread: NativeMessage[] = []
  readonly #holding = new Set<Listener>()
  #over = false
  #stalled = false
  #pendingCheck: Promise<void> | undefined
  #received = 0
  #models: Promise<AgentModel[]> | undefined
  #hooks: Promise<NativeConfig | undefined> | undefined

  private constructor(program: RunningProgram, hookServer: HookServer) {
    this.#program = program
    this.hookServer = hookServer
    this.version = program.version
    this.gone = program.ended.then(() => this.#end())
    program.handOver((message) => this.#dispatch(message))
  }

  static async start(options: AppServerOptions, signal?: AbortSignal): Promise<AppServer> {
    const hookServer = await HookServer.open()
    const hook = `hooks.PreToolUse=${toml(hookServer.hooks)}`
    try {
      return new AppServer(await startSignedIn({ ...options, args: ['-c', hook], signal }), hookServer)
    } catch (error) {
      await hookServer.close()
      throw error
    }
  }

  get over(): boolean {
    return this.#over
  }

  /** True if the program was killed because it hung. */
  get stalled(): boolean {
    return this.#stalled
  }

  get pendingCheck(): Promise<void> | undefined {
    return this.#pendingCheck
  }

  /**
   * Called after a request timed out: checks whether the program still responds. If the program sends nothing, it is
   * killed, and every listener is notified.
   */
  checkAlive(): Promise<void> {
    this.#pendingCheck ??= this.#awaitMessage().finally(() => {
      this.#pendingCheck = undefined
    })
    return this.#pendingCheck
  }

  async #awaitMessage(): Promise<void> {
    const received = this.#received
    const answer = this.call('thread/loaded/list').catch(() => undefined)
    const answered = await resolvesWithin(silenceMs, answer)
    // While a listener holds the program, no output is read, so silence does not show that the program hangs.
    if (answered || this.#received !== received || this.#holding.size > 0 || this.#over) return
    this.#stalled = true
    this.#program.process.kill()
    await this.gone
  }

  exitDetails(): ExitDetails {
    return this.#program.process.exitDetails()
  }

  call<Result>(method: string, params: object = {}): Promise<Result> {
    return this.#program.rpc.call(method, params) as Promise<Result>
  }

  respond(id: JsonRpcId, result: unknown): void {
    if (!this.#over) this.#program.rpc.respond(id, result)
  }

  refuse(id: JsonRpcId, message: string): void {
    if (!this.#over) this.#program.rpc.refuse(id, { code: methodNotFound, message })
  }

  /** Announces that a listener will open and claim this thread. Waits if the thread is still being unloaded. */
  async expect(threadId: string): Promise<void> {
    const closed = this.#closing.get(threadId)?.promise ?? Promise.resolve()
    await resolvesWithin(unloadMs, closed)
    this.#closed(threadId)
    this.#left.delete(threadId)
  }

  /**
   * Gives up a conversation that is being opened. It is unloaded as soon as it is open, unless another listener expects
   * it by then. Pass `threadId` if the id is already known. Never rejects.
   */
  async abandon(opening: Promise<{ thread: { id: string } }>, threadId = ''): Promise<void> {
    const closing = Promise.withResolvers<void>()
    if (threadId !== '' && !this.#closing.has(threadId)) this.#closing.set(threadId, closing)
    const opened = await opening.catch(() => undefined)
    const isMine = this.#closing.get(threadId) === closing
    if (isMine && opened?.thread.id !== threadId) this.#closed(threadId)
    if (opened && (isMine || opened.thread.id !== threadId)) await this.unload(opened.thread.id)
  }

  /** Unsubscribes from a thread that nobody needs any more, so that Codex unloads it. */
  async unload(threadId: string): Promise<void> {
    if (!this.#closing.has(threadId)) this.#closing.set(threadId, Promise.withResolvers())
    this.#forget(threadId)
    const answer = this.call<{ status: string }>('thread/unsubscribe', { threadId })
    const { status } = await answer.catch(() => ({ status: 'unknown' }))
    if (status !== 'unsubscribed') this.#closed(threadId)
  }

  /** Routes the messages of the thread to this listener, starting with the stored ones. */
  claim(threadId: string, listener: Listener): void {
    const isNew = ![...this.#listeners.values()].includes(listener)
    this.#listeners.set(threadId, listener)
    if (isNew) for (const message of [...this.#standing, ...this.#unread]) listener.receive(message)
    this.#unread = []
    for (const message of this.#unclaimed.get(threadId) ?? []) listener.receive(message)
    this.#unclaimed.delete(threadId)
  }

  leave(listener: Listener): void {
    for (const [threadId, one] of this.#listeners) {
      if (one !== listener) continue
      this.#listeners.delete(threadId)
      this.#forget(threadId)
    }
    this.hold(listener, false)
  }

  #forget(threadId: string): void {
    this.#drop(threadId)
    this.#left.add(threadId)
    if (this.#left.size > maxLeft) this.#left.delete(oldestOf(this.#left))
  }

  /** Drops stored messages that no listener will claim. Requests among them are refused. */
  #drop(threadId: string): void {
    for (const message of this.#unclaimed.get(threadId) ?? []) this.#refuseRequest(message)
    this.#unclaimed.delete(threadId)
  }

  #refuseRequest(message: NativeMessage): void {
    if ('id' in message) this.refuse(message.id, 'The session of this request is closed.')
  }

  /**
   * `holds` is true if the listener cannot accept more messages. The program is then paused for all listeners, since
   * they share its output.
   */
  hold(listener: Listener, holds: boolean): void {
    if (holds) this.#holding.add(listener)
    else this.#holding.delete(listener)
    if (this.#holding.size > 0) this.#program.lines.pause()
    else this.#program.lines.resume()
  }

  /** The models that Codex offers, requested once. */
  models(): Promise<AgentModel[]> {
    this.#models ??= this.call<{ data: NativeModel[] }>('model/list').then(({ data }) => data.map(agentModel))
    return this.#models
  }

  /**
   * The configuration of the hook that asks Parley about each call, including the entry that makes Codex trust the
   * hook; undefined if Codex did not accept it.
   */
  hooks(): Promise<NativeConfig | undefined> {
    this.#hooks ??= this.#findHook().catch((error) => {
      this.#hooks = undefined
      throw error
    })
    return this.#hooks
  }

  async #findHook(): Promise<NativeConfig | undefined> {
    const found = await this.#hook({ cwds: [this.hookServer.folder] })
    if (!found) return undefined
    return { PreToolUse: this.hookServer.hooks, state: { [found.key]: { trusted_hash: found.currentHash } } }
  }

  /** True if Codex runs our hook in this conversation: other settings may disable it. */
  async runsHook(threadId: string): Promise<boolean> {
    const found = await this.#hook({ threadId })
    return found?.enabled === true && found.trustStatus === 'trusted'
  }

  async #hook(where: { cwds: string[] } | { threadId: string }): Promise<NativeHook | undefined> {
    const { data } = await this.call<{ data: { hooks: NativeHook[] }[] }>('hooks/list', where)
    return data
      .flatMap(({ hooks }) => hooks)
      .find((hook) => isOwnHook(hook) && hook.command === this.hookServer.command)
  }

  /** Asks the program to exit, and kills it if it does not. */
  async close(): Promise<void> {
    const { process, dismiss } = this.#program
    dismiss()
    await process.gone(exitMs)
    process.kill()
    await this.gone
  }

  /** Kills the program with all its descendants, for all its sessions. */
  kill(): void {
    this.#program.process.killAll()
  }

  #dispatch(message: NativeMessage): void {
    this.#received++
    const threadId = threadOf(message)
    if (threadId === undefined) return this.#broadcast(message)
    if (message.method === 'thread/closed') this.#closed(threadId)
    const listener = this.#listeners.get(threadId)
    if (listener) listener.receive(message)
    else if (!this.#left.has(threadId)) this.#keep(threadId, message)
    else this.#refuseRequest(message)
  }

  #closed(threadId: string): void {
    this.#closing.get(threadId)?.resolve()
    this.#closing.delete(threadId)
  }

  #broadcast(message: NativeMessage): void {
    if ('id' in message) this.refuse(message.id, 'Parley cannot answer this request.')
    if (message.method === 'configWarning' && this.#standing.length < maxKept) this.#standing.push(message)
    if (message.method === unintelligible && this.#listeners.size === 0) this.#unread.push(message)
    for (const listener of new Set(this.#listeners.values())) listener.receive(message)
  }

  #keep(threadId: string, message: NativeMessage): void {
    const kept = this.#unclaimed.get(threadId) ?? []
    if (kept.length < maxKept) kept.push(message)
    else this.#refuseRequest(message)
    this.#unclaimed.set(threadId, kept)
    if (this.#unclaimed.size > maxUnclaimed) this.#drop(oldestOf(this.#unclaimed))
  }

  async #end(): Promise<void> {
    this.#over = true
    this.#program.rpc.end(new Error('Codex has ended.'))
    for (const listener of new Set(this.#listeners.values())) listener.lost(this.exitDetails())
    this.#listeners.clear()
    for (const threadId of this.#closing.keys()) this.#closed(threadId)
    await this.hookServer.close()
  }
}

/** The number of messages that may wait for a slow reader before the program is paused. */
const maxWaiting = 500

/** The messages for one listener, read one at a time. Pauses the program while too many wait. */
export class Inbox implements Listener {
  readonly #server: AppServer
  readonly #preview: (message: NativeMessage) => void
  readonly #waiting: NativeMessage[] = []
  #wake: () => void = () => undefined
  #isClosed = false
  /** The last output of the program, once it has ended. */
  exitDetails: ExitDetails | undefined

  /** `preview` gets each message at once, before the waiting messages are read. */
  constructor(server: AppServer, preview: (message: NativeMessage) => void) {
    this.#server = server
    this.#preview = preview
  }

  receive(message: NativeMessage): void {
    this.#preview(message)
    this.#waiting.push(message)
    if (this.#waiting.length > maxWaiting) this.#server.hold(this, true)
    this.#wake()
  }

  lost(details: ExitDetails): void {
    this.exitDetails = details
    this.#wake()
  }

  /** Ends when the inbox is closed, or when the program has ended and all messages were read. */
  async *messages(): AsyncGenerator<NativeMessage> {
    while (!this.#isClosed) {
      const next = this.#waiting.shift()
      if (next) yield next
      else if (this.exitDetails) return
      else {
        this.#server.hold(this, false)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }

  close(): void {
    this.#isClosed = true
    this.#server.leave(this)
    this.#wake()
  }
}

function oldestOf(threads: ReadonlySet<string> | ReadonlyMap<string, unknown>): string {
  const [oldest = ''] = threads.keys()
  return oldest
}

function threadOf({ params }: NativeMessage): string | undefined {
  const { threadId } = (params ?? {}) as { threadId?: unknown }
  return typeof threadId === 'string' ? threadId : undefined
}

/** Converts a value to TOML, which differs from JSON only in tables and their keys. */
function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${key} = ${toml(one)}`)
    .join(', ')} }`
}

type NativeModel = {
  readonly model: string
  readonly displayName: string
  readonly description: string
  readonly supportedReasoningEfforts: readonly { readonly reasoningEffort: string }[]
  readonly inputModalities?: readonly string[]
  readonly isDefault: boolean
}

function agentModel({ model, displayName, description, ...more }: NativeModel): AgentModel {
  return {
    id: model,
    name: displayName,
    description,
    efforts: more.supportedReasoningEfforts.map(({ reasoningEffort }) => reasoningEffort),
    reasoning: more.supportedReasoningEfforts.length > 0,
    ...(more.inputModalities && { attachments: more.inputModalities.some((kind) => kind !== 'text') }),
    ...(more.isDefault && { isDefault: true }),
  }
}
