import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { IpcFaceOptions } from './index.ts'
import type { PageWire } from './preload.ts'

/** Both ends of the IPC of a desktop program, on a real message port. Values are cloned, as between processes. */
export type Wire = {
  readonly main: Pick<IpcFaceOptions, 'handle' | 'send' | 'removeHandler'>
  readonly page: PageWire
  close(): void
}

export function wireUnderTest(): Wire {
  const { port1, port2 } = new MessageChannel()
  return {
    main: mainEnd(port1),
    page: pageEnd(port2),
    close() {
      port1.close()
      port2.close()
    },
  }
}

type Letter =
  | { readonly type: 'call'; readonly id: number; readonly channel: string; readonly args: unknown[] }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'message'; readonly channel: string; readonly args: unknown[] }

export function mainEnd(port: MessagePort): Wire['main'] {
  const handlers = new Map<string, (event: unknown, ...args: unknown[]) => Promise<unknown>>()
  port.on('message', async (letter: Letter) => {
    if (letter.type !== 'call') return
    const value = await handlers.get(letter.channel)?.({ sender: 'page' }, ...letter.args)
    port.postMessage({ type: 'answer', id: letter.id, value } satisfies Letter)
  })
  return {
    handle: (channel, listener) => handlers.set(channel, listener),
    removeHandler: (channel) => handlers.delete(channel),
    send: (channel, ...args) => port.postMessage({ type: 'message', channel, args } satisfies Letter),
  }
}

export function pageEnd(port: MessagePort): PageWire {
  const waiting = new Map<number, (value: unknown) => void>()
  const listeners = new Map<string, ((event: unknown, ...args: unknown[]) => void)[]>()
  let calls = 0
  port.on('message', (letter: Letter) => {
    if (letter.type === 'answer') waiting.get(letter.id)?.(letter.value)
    if (letter.type !== 'message') return
    for (const listener of listeners.get(letter.channel) ?? []) listener({}, ...letter.args)
  })
  return {
    invoke(channel, ...args) {
      const id = ++calls
      port.postMessage({ type: 'call', id, channel, args } satisfies Letter)
      return new Promise((resolve) => waiting.set(id, resolve))
    },
    on: (channel, listener) => listeners.set(channel, [...(listeners.get(channel) ?? []), listener]),
  }
}
