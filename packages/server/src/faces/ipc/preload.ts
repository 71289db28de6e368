import { type AgentCalls, type AgentChannel, messageChannel, type TaskMessage } from './agent-calls.ts'

/** The page's end of the IPC; in Electron, that of `ipcRenderer`. */
export type PageWire = {
  invoke(channel: string, ...args: unknown[]): Promise<unknown>
  on(channel: string, listener: (event: unknown, ...args: unknown[]) => void): unknown
}

type Asked<Channel extends AgentChannel> = (
  ...args: Parameters<AgentCalls[Channel]>
) => Promise<ReturnType<AgentCalls[Channel]>>

/** The agents of the program, for its page. Plain functions and values only, so that it can cross a context bridge. */
export type AgentBridge = {
  readonly connect: Asked<'agent:connect'>
  readonly send: Asked<'agent:send'>
  readonly stop: Asked<'agent:stop'>
  readonly resumeQueue: Asked<'agent:resume-queue'>
  readonly respondToPermission: Asked<'agent:permission-response'>
  readonly getCapabilities: Asked<'agent:get-capabilities'>
  readonly setModel: Asked<'agent:set-model'>
  readonly newSession: Asked<'agent:new-session'>
  readonly loadSession: Asked<'agent:load-session'>
  readonly resumeSession: Asked<'agent:resume-session'>
  readonly setActiveSession: Asked<'agent:set-active-session'>
  readonly getStatus: Asked<'agent:get-status'>
  readonly disconnect: Asked<'agent:disconnect'>
  /** Calls the listener with every message of every task. Returns a function that removes it. */
  onMessage(listener: (message: TaskMessage) => void): () => void
}

/**
 * For a preload script, or wherever the page's end of the IPC is. Imports nothing from Node and nothing from the
 * server.
 */
export function createPreload({ invoke, on }: PageWire): AgentBridge {
  const listeners = new Set<(message: TaskMessage) => void>()
  on(messageChannel, (_, message) => {
    for (const listener of listeners) listener(message as TaskMessage)
  })
  const ask =
    <Channel extends AgentChannel>(channel: Channel): Asked<Channel> =>
    (...args) =>
      invoke(channel, ...args) as Promise<ReturnType<AgentCalls[Channel]>>
  return {
    connect: ask('agent:connect'),
    send: ask('agent:send'),
    stop: ask('agent:stop'),
    resumeQueue: ask('agent:resume-queue'),
    respondToPermission: ask('agent:permission-response'),
    getCapabilities: ask('agent:get-capabilities'),
    setModel: ask('agent:set-model'),
    newSession: ask('agent:new-session'),
    loadSession: ask('agent:load-session'),
    resumeSession: ask('agent:resume-session'),
    setActiveSession: ask('agent:set-active-session'),
    getStatus: ask('agent:get-status'),
    disconnect: ask('agent:disconnect'),
    onMessage(listener) {
      const own = (message: TaskMessage) => listener(message)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
}
