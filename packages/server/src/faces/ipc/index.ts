import { errorInfoOf, ParleyError, type PromptPart } from '@parley/protocol'
import type { Host } from '../../core/host.ts'
import {
  type AgentCalls,
  type AgentChannel,
  agentChannels,
  messageChannel,
  type Refusal,
  type TaskStatus,
} from './agent-calls.ts'
import { type CheckedCall, type CheckedImage, checkCall } from './check-call.ts'
import { Task } from './task.ts'

export type {
  AgentAbilities,
  AgentCalls,
  AgentChannel,
  AgentConfig,
  ConnectOptions,
  InSession,
  Outcome,
  PageImage,
  PermissionResponse,
  Refusal,
  TaskMessage,
  TaskStatus,
} from './agent-calls.ts'
export { agentChannels, messageChannel } from './agent-calls.ts'
export type { PageMessage, PageNote } from './page-messages.ts'

export type IpcFaceOptions = {
  readonly host: Host
  /** Answers a channel; in Electron `ipcMain.handle`. */
  readonly handle: (
    channel: string,
    listener: (event: unknown, ...args: unknown[]) => Promise<unknown>,
  ) => unknown
  /** Tells the page; in Electron `webContents.send`. What is sent can be cloned. */
  readonly send: (channel: string, ...args: unknown[]) => unknown
  /** Takes a handler back when the face closes; in Electron `ipcMain.removeHandler`. */
  readonly removeHandler?: (channel: string) => unknown
  /** Whether this page may call; without it, every page that the wire reaches may. */
  readonly accepts?: (event: unknown) => boolean
  /** Other names that pages have for agents. */
  readonly agents?: Readonly<Record<string, string>>
  /** Tell the page its own prompts too: for several windows on one task. */
  readonly echoPrompts?: boolean
  /** Told of what goes wrong where no caller could be told. */
  readonly problem?: (problem: { error: unknown; doing: string }) => void
}

export type IpcFace = {
  status(taskId: string): Promise<TaskStatus>
  /** Sessions and agents go on; nothing is heard and nothing answered any more. */
  close(): void
}

const usualNames = { 'claude-sdk': 'claude' }

/** Agents for the page of a desktop program, over whatever carries calls one way and messages the other. */
export function createIpcFace(options: IpcFaceOptions): IpcFace {
  const { host, handle, send, problem = () => undefined } = options
  const names: Readonly<Record<string, string>> = { ...usualNames, ...options.agents }
  const tasks = new Map<string, Task>()
  const queues = new Map<string, Promise<unknown>>()

  function newTask(taskId: string, config: CheckedCall<'agent:connect'>[1]): Task {
    const tell = (sessionId: string, message: unknown) => {
      try {
        send(messageChannel, { taskId, sessionId, message })
      } catch (error) {
        problem({ error, doing: 'tell the page' })
      }
    }
    return new Task(
      {
        host,
        agentFor: (type) => (Object.hasOwn(names, type) ? (names[type] ?? type) : type),
        tell,
        echoPrompts: options.echoPrompts ?? false,
      },
      config,
    )
  }

  function taskOf(taskId: string): Task {
    const task = tasks.get(taskId)
    if (task) return task
    throw new ParleyError('conflict', `The task ${taskId} is not connected. Call agent:connect first.`)
  }

  /** The calls of a task are answered one after another, so that a page that mounts twice gets one session. */
  function inOrder<Value>(taskId: string, call: () => Promise<Value>): Promise<Value> {
    const answer = (queues.get(taskId) ?? Promise.resolve()).then(call)
    const done = answer.catch(() => undefined)
    queues.set(taskId, done)
    void done.then(() => queues.get(taskId) === done && queues.delete(taskId))
    return answer
  }

  const status = async (taskId: string): Promise<TaskStatus> =>
    (await tasks.get(taskId)?.status()) ?? {
      connected: false,
      agent: null,
      sessionId: null,
      sessions: [],
      activity: 'idle',
      lastError: null,
    }

  const answers: Answering = {
    'agent:connect': async ([taskId, config, { reuseIfSame, createSession }]) => {
      const before = tasks.get(taskId)
      const reused = reuseIfSame && before?.isConfiguredLike(config) ? before : undefined
      const task = reused ?? newTask(taskId, config)
      if (createSession && task.active === undefined) await task.create()
      if (task !== before) before?.leave()
      tasks.set(taskId, task)
      return { sessionId: task.active ?? null }
    },
    'agent:send': async ([taskId, text, images]) => ({
      promptId: await taskOf(taskId).send(text, images.map(imagePart)),
    }),
    'agent:stop': async ([taskId]) => void (await taskOf(taskId).stop()),
    'agent:permission-response': async ([taskId, id, response]) =>
      void (await taskOf(taskId).respond(id, response)),
    'agent:get-capabilities': ([taskId]) => taskOf(taskId).abilities(),
    'agent:set-model': async ([taskId, model]) => void (await taskOf(taskId).setModel(model)),
    'agent:new-session': async ([taskId]) => ({ sessionId: await taskOf(taskId).create() }),
    'agent:load-session': async ([taskId, id]) => ({ sessionId: await taskOf(taskId).load(id) }),
    'agent:resume-session': async ([taskId, id]) => ({ sessionId: await taskOf(taskId).resume(id) }),
    'agent:set-active-session': async ([taskId, id]) => ({ sessionId: await taskOf(taskId).activate(id) }),
    'agent:get-status': async ([taskId]) => ({ status: await status(taskId) }),
    'agent:disconnect': async ([taskId]) => {
      await tasks.get(taskId)?.disconnect()
      tasks.delete(taskId)
    },
  }

  async function answer<Channel extends AgentChannel>(channel: Channel, event: unknown, args: unknown[]) {
    let taskId: string | undefined
    try {
      if (options.accepts && !options.accepts(event)) {
        throw new ParleyError('forbidden', 'This page may not use the agents.')
      }
      const call = checkCall(channel, args)
      taskId = call[0]
      const value = await inOrder(taskId, async () => answers[channel](call))
      return { success: true, ...value }
    } catch (error) {
      if (!(error instanceof ParleyError)) problem({ error, doing: channel })
      const { message, code } = errorInfoOf(error)
      if (taskId !== undefined) tasks.get(taskId)?.failed(message)
      return { success: false, error: message, code } satisfies Refusal
    }
  }

  for (const channel of agentChannels) {
    handle(channel, (event, ...args) => answer(channel, event, args))
  }
  return {
    status,
    close() {
      for (const channel of agentChannels) options.removeHandler?.(channel)
      for (const task of tasks.values()) task.leave()
      tasks.clear()
    },
  }
}

type Value<Channel extends AgentChannel> = Omit<
  Extract<ReturnType<AgentCalls[Channel]>, { success: true }>,
  'success'
>
type Answering = {
  [Channel in AgentChannel]: (call: CheckedCall<Channel>) => Promise<Value<Channel> | undefined>
}

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,(.*)$/s

function imagePart(image: CheckedImage): PromptPart {
  const { name } = typeof image === 'string' ? {} : image
  const found = dataUrl.exec(typeof image === 'string' ? image : image.data)
  const mimeType = found?.[1] ?? (typeof image === 'string' ? undefined : image.mimeType)
  const data = found?.[2] ?? (typeof image === 'string' ? undefined : image.data)
  if (mimeType === undefined || data === undefined) {
    const message = 'An image is a data URL (data:image/png;base64,…), or { data, mimeType }.'
    throw new ParleyError('validation_error', message)
  }
  return { type: 'image', mimeType, data, ...(name !== undefined && { name }) }
}
