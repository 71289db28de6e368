import type { BarePlay, PlainCalls } from './bare-process.ts'
import type { Task } from './bench-agent.ts'
import type { ParleyCalls, ParleyProcessInput, ServerOptions } from './parley-process.ts'
import { type Remote, startProcess } from './processes.ts'
import type { ReaderCalls } from './reader-process.ts'
import type { WebSocketAddress } from './websocket-reader.ts'

/** Parley's server, the bare server, and the readers of both. Each runs in its own process. */
export type Servers = AsyncDisposable & {
  readonly parley: ParleyServer
  readonly bare: Remote<PlainCalls> & { readonly address: WebSocketAddress }
  readonly readers: Remote<ReaderCalls>
}

export async function startServers(folder: string): Promise<Servers> {
  await using undo = new AsyncDisposableStack()
  const readers = startProcess<ReaderCalls>('./reader-process.ts')
  undo.defer(() => readers.stop())
  const bare = startProcess<PlainCalls>('./bare-process.ts')
  undo.defer(() => bare.stop())
  const parley = await startParleyServer(folder)
  undo.defer(() => parley.remote.stop())
  const address = await bare.call('address')
  const started = undo.move()
  return {
    parley,
    bare: { ...bare, address },
    readers,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

export type ParleyServer = {
  readonly remote: Remote<ParleyCalls>
  readonly url: string
  readonly socket: WebSocketAddress
  request<T>(method: string, path: string, body?: unknown): Promise<T>
  createSession(agent: 'scripted' | 'bench', cwd: string): Promise<string>
}

export async function startParleyServer(dataDir: string, options?: ServerOptions): Promise<ParleyServer> {
  const input: ParleyProcessInput = { dataDir, ...options }
  const remote = startProcess<ParleyCalls>('./parley-process.ts', input)
  const { url, token } = await remote.call('address')
  const request = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
  return {
    remote,
    url,
    socket: { url: `${url}/api/ws`, token },
    request,
    async createSession(agent, cwd) {
      const { id } = await request<{ id: string }>('POST', '/api/sessions', { agent, cwd })
      return id
    },
  }
}

let prompts = 0

/** The command that starts a turn: a task for the bench agent, or a script for the scripted agent. */
export function promptCommand(prompt: Task | readonly object[]) {
  return {
    commandId: `bench-${process.pid}-${++prompts}`,
    type: 'prompt.submit' as const,
    text: JSON.stringify(prompt),
  }
}

export function promptFrame(session: string, prompt: Task | readonly object[]): string {
  return JSON.stringify({ type: 'command', session, command: promptCommand(prompt) })
}

export type { BarePlay }
