import {
  type AgentCalls,
  type AgentChannel,
  bridgeChannels,
  messageChannel,
  type TaskMessage,
} from './agent-calls.ts'

/** The page's end of the IPC; in Electron `ipcRenderer`. */
export type PageWire = {
  invoke(channel: string, ...args: unknown[]): Promise<unknown>
  on(channel: string, listener: (event: unknown, ...args: unknown[]) => void): unknown
}

type Asked<Channel extends AgentChannel> = (
  ...args: Parameters<AgentCalls[Channel]>
) => Promise<ReturnType<AgentCalls[Channel]>>

/**
 * The interface of a page to the agents of its program. It consists of plain functions and values, so that it can
 * cross a context bridge.
 */
export type AgentBridge = {
  readonly [Name in keyof typeof bridgeChannels]: Asked<(typeof bridgeChannels)[Name]>
} & {
  /** Calls the listener with every message of every task. Returns a function that removes it. */
  onMessage(listener: (message: TaskMessage) => void): () => void
}

/**
 * Creates the bridge in a script that has the page's end of the IPC, such as a preload script. Imports nothing from
 * Node and nothing from the server.
 */
export function createPreload({ invoke, on }: PageWire): AgentBridge {
  const listeners = new Set<(message: TaskMessage) => void>()
  on(messageChannel, (_, message) => {
    for (const listener of listeners) listener(message as TaskMessage)
  })
  const calls = Object.entries(bridgeChannels).map(([name, channel]) => [
    name,
    (...args: unknown[]) => invoke(channel, ...args),
  ])
  return {
    ...(Object.fromEntries(calls) as Omit<AgentBridge, 'onMessage'>),
    onMessage(listener) {
      const own = (message: TaskMessage) => listener(message)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
}
