import { errorInfoOf, ParleyError, type PromptPart } from '@parley/protocol'
import { embeddedHost, type Principal } from '../../access/index.ts'
import {
  type AgentCalls,
  type AgentChannel,
  agentChannels,
  type Refusal,
  type TaskStatus,
} from './agent-calls.ts'
import { type CheckedCall, type CheckedImage, checkCall } from './check-call.ts'
import { Tasks, type TasksOptions } from './tasks.ts'

export type {
  AgentAbilities,
  AgentCalls,
  AgentChannel,
  InSession,
  Outcome,
  Refusal,
  TaskMessage,
  TaskStatus,
} from './agent-calls.ts'
export { agentChannels, messageChannel } from './agent-calls.ts'
export type { AgentConfig, ConnectOptions, PageImage, PermissionResponse } from './check-call.ts'
export type { PageMessage, PageNote } from './page-messages.ts'

export type IpcFaceOptions = Omit<TasksOptions, 'problem'> & {
  /** Registers the handler of a channel; in Electron `ipcMain.handle`. */
  readonly handle: (
    channel: string,
    listener: (event: unknown, ...args: unknown[]) => Promise<unknown>,
  ) => unknown
  /** Removes a handler when the face closes; in Electron `ipcMain.removeHandler`. */
  readonly removeHandler?: (channel: string) => unknown
  /** Whether the sender of a call may use the face. By default, every page that can reach the channels may. */
  readonly accepts?: (event: unknown) => boolean
  /**
   * The principal for which the page acts. The page may do only what the scopes and limits of the principal permit, and
   * the log names the person. When the access ends, messages stop and calls are refused. Without a principal, the page
   * acts for the owner.
   */
  readonly principal?: Principal
  readonly problem?: TasksOptions['problem']
}

export type IpcFace = {
  status(taskId: string): Promise<TaskStatus>
  /** Removes the handlers and stops all messages. Sessions and agents continue. */
  close(): void
}

/**
 * Serves agents to the page of a desktop program, over any transport that passes calls to the program and messages to
 * the page.
 */
export function createIpcFace(options: IpcFaceOptions): IpcFace {
  const { handle, accepts = () => true, problem = () => undefined } = options
  const { principal } = options
  const { host, over } = principal
    ? embeddedHost(options.host, principal, 'ipc')
    : { host: options.host, over: undefined }
  const tasks = new Tasks({ ...options, host, problem })
  over?.addEventListener('abort', () => tasks.leaveAll(), { once: true })
  const answers = answersOf(tasks)

  async function answer<Channel extends AgentChannel>(channel: Channel, event: unknown, args: unknown[]) {
    let taskId: string | undefined
    try {
      if (!accepts(event)) throw new ParleyError('forbidden', 'This page may not use the agents.')
      if (over?.aborted) throw new ParleyError('unauthorized', 'The access of this page has ended.')
      const call = checkCall(channel, args)
      taskId = call[0]
      const value = await tasks.inOrder(taskId, async () => answers[channel](call))
      return { success: true, ...value }
    } catch (error) {
      if (!(error instanceof ParleyError)) problem({ error, doing: channel })
      const { message, code } = errorInfoOf(error)
      if (taskId !== undefined) tasks.find(taskId)?.failed(message)
      return { success: false, error: message, code } satisfies Refusal
    }
  }

  for (const channel of agentChannels) {
    handle(channel, (event, ...args) => answer(channel, event, args))
  }
  return {
    status: (taskId) => tasks.status(taskId),
    close() {
      for (const channel of agentChannels) options.removeHandler?.(channel)
      tasks.leaveAll()
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

function answersOf(tasks: Tasks): Answering {
  const task = (taskId: string) => tasks.get(taskId)
  return {
    'agent:connect': async ([taskId, config, options]) => ({
      sessionId: await tasks.connect(taskId, config, options),
    }),
    'agent:send': async ([taskId, text, images]) => ({
      promptId: await task(taskId).send(text, images.map(imagePart)),
    }),
    'agent:stop': async ([taskId]) => void (await task(taskId).stop()),
    'agent:resume-queue': async ([taskId]) => void (await task(taskId).resumeQueue()),
    'agent:permission-response': async ([taskId, id, response]) =>
      void (await task(taskId).respond(id, response)),
    'agent:get-capabilities': async ([taskId]) => task(taskId).abilities(),
    'agent:set-model': async ([taskId, model]) => void (await task(taskId).setModel(model)),
    'agent:new-session': async ([taskId]) => ({ sessionId: await task(taskId).create() }),
    'agent:load-session': async ([taskId, id]) => ({ sessionId: await task(taskId).load(id) }),
    'agent:resume-session': async ([taskId, id]) => ({ sessionId: await task(taskId).resume(id) }),
    'agent:set-active-session': async ([taskId, id]) => ({ sessionId: await task(taskId).activate(id) }),
    'agent:get-status': async ([taskId]) => ({ status: await tasks.status(taskId) }),
    'agent:disconnect': async ([taskId]) => void (await tasks.disconnect(taskId)),
  }
}

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,(.*)$/s

function imagePart(image: CheckedImage): PromptPart {
  const { name } = typeof image === 'string' ? {} : image
  const found = dataUrl.exec(typeof image === 'string' ? image : image.data)
  const mimeType = found?.[1] ?? (typeof image === 'string' ? undefined : image.mimeType)
  const data = found?.[2] ?? (typeof image === 'string' ? undefined : image.data)
  if (mimeType === undefined || data === undefined) {
    const message = 'An image must be a data URL (data:image/png;base64,…), or { data, mimeType }.'
    throw new ParleyError('validation_error', message)
  }
  return { type: 'image', mimeType, data, ...(name !== undefined && { name }) }
}
