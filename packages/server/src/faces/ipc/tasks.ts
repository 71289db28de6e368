import { ParleyError } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import { messageChannel, type TaskMessage, type TaskStatus } from './agent-calls.ts'
import type { CheckedCall, CheckedConfig } from './check-call.ts'
import { Task } from './task.ts'

const defaultAliases = { 'claude-sdk': 'claude' }

const disconnected: TaskStatus = {
  connected: false,
  agent: null,
  sessionId: null,
  sessions: [],
  activity: 'idle',
  paused: 0,
  lastError: null,
}

export type TasksOptions = {
  readonly host: Host
  /** Sends a message to the page; in Electron `webContents.send`. All messages can be cloned. */
  readonly send: (channel: string, ...args: unknown[]) => unknown
  /** Aliases that pages use for agents. */
  readonly agents?: Readonly<Record<string, string>>
  /** If true, a page is also sent its own prompts. Needed for several windows on one task. */
  readonly echoPrompts?: boolean
  /** Called with errors that cannot be reported to a caller. */
  readonly problem: (problem: { error: unknown; doing: string }) => void
}

export class Tasks {
  readonly #options: TasksOptions
  readonly #aliases: Readonly<Record<string, string>>
  readonly #tasks = new Map<string, Task>()
  readonly #queues = new Map<string, Promise<unknown>>()
  #isOver = false

  constructor(options: TasksOptions) {
    this.#options = options
    this.#aliases = { ...defaultAliases, ...options.agents }
  }

  find(taskId: string): Task | undefined {
    return this.#tasks.get(taskId)
  }

  get(taskId: string): Task {
    const task = this.#tasks.get(taskId)
    if (task) return task
    throw new ParleyError('conflict', `The task ${taskId} is not connected. Call agent:connect first.`)
  }

  /** Runs the calls of a task one after another, so that a page that mounts twice gets one session. */
  inOrder<Value>(taskId: string, call: () => Promise<Value>): Promise<Value> {
    const answer = (this.#queues.get(taskId) ?? Promise.resolve()).then(call)
    const done = answer.catch(() => undefined)
    this.#queues.set(taskId, done)
    void done.then(() => this.#queues.get(taskId) === done && this.#queues.delete(taskId))
    return answer
  }

  /**
   * Connects a task and returns the id of its active session; null if it has none. The previous connection of the task
   * ends only after the new connection exists.
   */
  async connect(
    taskId: string,
    config: CheckedConfig,
    { reuseIfSame, createSession }: CheckedCall<'agent:connect'>[2],
  ): Promise<string | null> {
    const before = this.#tasks.get(taskId)
    const reused = reuseIfSame && before?.isConfiguredLike(config) ? before : undefined
    const task = reused ?? this.#make(taskId, config)
    if (createSession && task.active === undefined) await task.create()
    if (this.#isOver) {
      task.leave()
      throw new ParleyError('unauthorized', 'The access of this page has ended.')
    }
    if (task !== before) before?.leave()
    this.#tasks.set(taskId, task)
    return task.active ?? null
  }

  async disconnect(taskId: string): Promise<void> {
    await this.#tasks.get(taskId)?.disconnect()
    this.#tasks.delete(taskId)
  }

  async status(taskId: string): Promise<TaskStatus> {
    return (await this.#tasks.get(taskId)?.status()) ?? disconnected
  }

  /** Ends all connections. A task that is being connected is not connected any more. */
  leaveAll(): void {
    this.#isOver = true
    for (const task of this.#tasks.values()) task.leave()
    this.#tasks.clear()
  }

  #make(taskId: string, config: CheckedConfig): Task {
    const { host, send, problem, echoPrompts = false } = this.#options
    const agentFor = (type: string) =>
      Object.hasOwn(this.#aliases, type) ? (this.#aliases[type] ?? type) : type
    const parts = {
      host,
      agentFor,
      echoPrompts,
      send: (sessionId: string, message: TaskMessage['message']) => {
        try {
          send(messageChannel, { taskId, sessionId, message } satisfies TaskMessage)
        } catch (error) {
          problem({ error, doing: 'notify the page' })
        }
      },
    }
    return new Task(parts, config)
  }
}
