import { isDeepStrictEqual } from 'node:util'
import {
  applyDelta,
  applyEvent,
  applyEvents,
  type Delta,
  emptyView,
  type SessionEvent,
  type SessionView,
} from '@parley/protocol'
import { WebSocket } from 'ws'
import { answer } from './processes.ts'
import type { WebSocketAddress } from './websocket-reader.ts'

/** Follows many sessions on the nodes of a fleet, and folds each from the frames that arrive. */
type Followed = {
  view: SessionView
  /** The text of each block, assembled from deltas. */
  readonly texts: Map<string, string>
  readonly live: PromiseWithResolvers<void>
  readonly ended: PromiseWithResolvers<void>
}

type Frame = {
  readonly type: string
  readonly session: string
  readonly epoch?: string
  readonly event?: SessionEvent
  readonly delta?: Delta
}

const sessions = new Map<string, Followed>()
const sockets: WebSocket[] = []
const problems: string[] = []
let deltas = 0

const calls = {
  /** Follows the sessions on one socket. Resolves when all are live. */
  async follow({ address, ids }: { address: WebSocketAddress; ids: readonly string[] }) {
    const socket = new WebSocket(address.url, { headers: { authorization: `Bearer ${address.token}` } })
    sockets.push(socket)
    socket.on('message', (data) => take(JSON.parse(String(data)) as Frame))
    socket.on('close', () => problems.push('A socket was closed.'))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.send('{"type":"hello","client":"bench"}')
    const live = ids.map((session) => {
      const followed = {
        view: emptyView(session),
        texts: new Map<string, string>(),
        live: Promise.withResolvers<void>(),
        ended: Promise.withResolvers<void>(),
      }
      sessions.set(session, followed)
      socket.send(JSON.stringify({ type: 'follow', session }))
      return followed.live.promise
    })
    await Promise.all(live)
  },

  /** Resolves with true when all turns have ended, or with false after `withinMs`. */
  async ended(withinMs: number) {
    const all = Promise.all([...sessions.values()].map(({ ended }) => ended.promise)).then(() => true)
    return await Promise.race([all, new Promise<false>((resolve) => setTimeout(resolve, withinMs, false))])
  },

  /** Compares each fold with the stored log, which the node at `address` reads. */
  async check({ address, ids }: { address: WebSocketAddress; ids: readonly string[] }) {
    const origin = new URL(address.url)
    origin.protocol = 'http:'
    let equal = 0
    for (const id of ids) {
      const { view } = sessions.get(id)!
      const stored = await storedView(id, view.state.epoch, origin.origin, address.token!)
      if (isDeepStrictEqual(stored, view)) equal++
      else problems.push(`The fold of ${id} differs from its log (${view.state.seq}, ${stored.state.seq}).`)
    }
    return equal
  },

  /** Closes all sockets. Returns the problems that were found, and the number of deltas that arrived. */
  close() {
    for (const socket of sockets) socket.removeAllListeners('close').close()
    return { problems, deltas }
  },
}
export type NodeStreamsCalls = typeof calls

function take(frame: Frame): void {
  if (frame.type === 'evicted' || frame.type === 'error') problems.push(JSON.stringify(frame))
  const followed = sessions.get(frame.session)
  if (!followed) return
  if (frame.type === 'following') followed.view = emptyView(frame.session, frame.epoch)
  if (frame.type === 'caught-up') followed.live.resolve()
  if (frame.delta) takeDelta(followed, frame.delta)
  if (frame.event) takeEvent(followed, frame.event)
}

function takeDelta(followed: Followed, delta: Delta): void {
  followed.view = applyDelta(followed.view, delta)
  if (delta.type !== 'text.streamed') return
  deltas++
  const text = followed.texts.get(delta.blockId) ?? ''
  if (delta.offset !== text.length) problems.push(`A delta of ${delta.blockId} is at ${delta.offset}.`)
  followed.texts.set(delta.blockId, text + delta.text)
}

function takeEvent(followed: Followed, event: SessionEvent): void {
  const { seq } = followed.view.state
  if (event.seq !== seq + 1) problems.push(`Event ${event.seq} followed event ${seq}.`)
  followed.view = applyEvent(followed.view, event)
  if (event.type === 'text.written') {
    const text = followed.texts.get(event.blockId)
    if (text !== event.text) problems.push(`The deltas of ${event.blockId} do not add up to the block.`)
    followed.texts.delete(event.blockId)
  }
  if (event.type === 'turn.ended') followed.ended.resolve()
}

async function storedView(id: string, epoch: string, url: string, token: string): Promise<SessionView> {
  let view = emptyView(id, epoch)
  for (;;) {
    const query = `after=${view.state.seq}&limit=1000`
    const response = await fetch(`${url}/api/sessions/${id}/events?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { events } = (await response.json()) as { events: SessionEvent[] }
    if (events.length === 0) return view
    view = applyEvents(view, events)
  }
}

answer(calls)
