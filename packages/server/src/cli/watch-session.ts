import type { FeedItem } from '@parley/client'
import { isKnown, ParleyError, type SessionEvent, type UnknownEvent } from '@parley/protocol'
import type { CommandLine } from '../faces/http/command-line.ts'
import type { Connected } from './connect.ts'
import type { Answerer } from './terminal/person.ts'

export type WatchOptions = {
  readonly server: Pick<Connected, 'client' | 'url'>
  readonly sessionId: string
  readonly from: { readonly after: number; readonly epoch: string }
  readonly show: (item: FeedItem) => void
  readonly answerer: Answerer
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  readonly commandLine: CommandLine
}

const giveUpMs = 60_000
const reached: ReadonlySet<string> = new Set(['replaying', 'live'])

/**
 * Follows a session until `isLast` holds for an event, and returns that event; undefined if the signal aborts first. If
 * the server cannot be reached for a minute, rejects with `details.reason` `lost`: the outcome of the turn is unknown.
 */
export async function watchSession(
  options: WatchOptions,
  isLast: (event: SessionEvent) => boolean,
): Promise<SessionEvent | undefined> {
  const { server, sessionId, from, answerer } = options
  const lost = new AbortController()
  let timer = setTimeout(() => lost.abort(), giveUpMs)
  const signal = AbortSignal.any([options.signal, lost.signal])

  let isAway = false
  let url = server.url

  const connectionChanged = (item: FeedItem) => {
    if (item.type !== 'status') return
    const isReached = reached.has(item.status)
    if (isReached) clearTimeout(timer)
    if (isReached !== isAway) return
    isAway = !isReached
    if (isAway) timer = setTimeout(() => lost.abort(), giveUpMs)
    else answerer.reconnected()
    const where = server.url === url ? '' : `, to the node at ${server.url}`
    options.say(`parley: ${isAway ? 'the connection is lost; trying again…' : `connected again${where}`}`)
    url = server.url
  }
  try {
    for await (const item of server.client.feed(sessionId, { ...from, signal })) {
      connectionChanged(item)
      options.show(item)
      if (item.type !== 'event' || !isKnown(item.event)) continue
      notify(answerer, item.event)
      if (isLast(item.event)) return item.event
    }
  } finally {
    clearTimeout(timer)
  }
  if (lost.signal.aborted) throw serverLost(options.commandLine(`show ${sessionId}`))
  return undefined
}

function notify(answerer: Answerer, event: SessionEvent | UnknownEvent): void {
  if (!isKnown(event)) return
  if (event.type === 'permission.requested' || event.type === 'question.asked')
    answerer.requested(event.requestId)
  if (event.type === 'permission.resolved' || event.type === 'question.resolved')
    answerer.resolved(event.requestId, event.outcome)
}

function serverLost(look: string): ParleyError {
  return new ParleyError(
    'busy',
    `The server has not answered for a minute; the outcome is unknown. When it answers again, run: ${look}`,
    { details: { reason: 'lost' } },
  )
}
