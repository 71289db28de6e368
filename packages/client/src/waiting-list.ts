import type { ParleyError, ServerFrame, WaitingRequest } from '@parley/protocol'
import type { ClientParts } from './client-parts.ts'
import { asParleyError } from './http.ts'
import { createBatchedStore, type LiveStore, type Schedule } from './live-store.ts'
import { createReload } from './reload.ts'
import { untilReached } from './retry.ts'
import type { SocketStatus } from './socket.ts'

/** All requests that wait for a person, in all sessions, kept current. */
export type WaitingList = LiveStore<WaitingListSnapshot> & { close(): void }

export type WaitingListSnapshot = {
  readonly status: 'loading' | 'live' | 'reconnecting' | 'closed' | 'failed'
  readonly requests: readonly WaitingRequest[]
  readonly error?: ParleyError
}

export function createWaitingList(client: ClientParts, options: { schedule?: Schedule } = {}): WaitingList {
  const controller = new AbortController()
  const { signal } = controller
  let status: WaitingListSnapshot['status'] = 'loading'
  let error: ParleyError | undefined
  let requests: readonly WaitingRequest[] = []

  const store = createBatchedStore<WaitingListSnapshot>(
    () => ({ status, requests, ...(error && { error }) }),
    options.schedule,
  )

  function become(next: WaitingListSnapshot['status'], why?: ParleyError): void {
    if (status === 'closed' || status === 'failed') return
    status = next
    error = why
    store.touch()
  }

  const reload = createReload(async () => {
    const onUnreachable = (why: ParleyError) => become(status === 'live' ? 'reconnecting' : status, why)
    const retry = { clock: client.clock, socket: client.socket, signal, onUnreachable, busyToo: true }
    try {
      const reply = await untilReached(() => client.http.call('listPermissions', { signal }), retry)
      requests = reply.requests
      become(client.socket.status.state === 'open' ? 'live' : 'reconnecting')
    } catch (thrown) {
      if (!signal.aborted) end('failed', asParleyError(thrown))
    }
  })

  /**
   * Loads the requests again if the session has or had open requests: a summary contains only their number.
   */
  function changed(frame: ServerFrame & { type: 'session-changed' }): void {
    const had = requests.some((waiting) => waiting.session.id === frame.session)
    if (had || reload.running || (frame.summary?.waiting ?? 0) > 0) reload.run()
  }

  function connectionChanged(connection: SocketStatus): void {
    if (connection.state === 'open') return reload.run()
    if (connection.state === 'stopped') return end('failed', connection.error)
    if (connection.state === 'closed') return end('closed')
    if (status === 'live') become('reconnecting')
  }

  function end(next: 'closed' | 'failed', why?: ParleyError): void {
    become(next, why)
    controller.abort()
    forgetFrames()
    forgetStatus()
  }

  const forgetFrames = client.socket.onFrame((frame) => {
    if (frame.type === 'session-changed') changed(frame)
  })
  const forgetStatus = client.socket.onStatus(connectionChanged)
  client.socket.open()
  if (client.socket.status.state !== 'connecting') connectionChanged(client.socket.status)

  return { subscribe: store.subscribe, getSnapshot: store.getSnapshot, close: () => end('closed') }
}
