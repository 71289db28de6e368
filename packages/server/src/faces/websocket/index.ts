import { type Device, type ServerFrame, webSocketProtocol } from '@parley/protocol'
import type { Logger } from 'pino'
import { WebSocketServer } from 'ws'
import { hostFor, type Principal, seesChange } from '../../access/index.ts'
import type { Host } from '../../core/index.ts'
import { type AnswerHeaders, addAnswerHeaders, type Upgrade } from '../sockets.ts'
import { encodeFrames } from './encode.ts'
import { defaultOutboxLimits, type OutboxLimits } from './outbox.ts'
import { changeFrame, Peer } from './peer.ts'

const maxFrameBytes = 12 * 1024 * 1024

/** Serves many sessions on one socket. The caller checks access before `accept`. */
export function createWebSocketFace(options: {
  host: Host
  logger: Logger
  version: string
  limits?: Partial<OutboxLimits>
  answerHeaders?: AnswerHeaders
  /** Called when a page reports whether it is visible. `page` identifies its socket. */
  onPresence?: (page: string, principal: Principal, visible: boolean) => void
  /** The time limit for a peer to answer a ping. After this time, the peer counts as gone. */
  heartbeatMs?: number
}) {
  const { host, logger, version, heartbeatMs = 15_000 } = options
  const limits = { ...defaultOutboxLimits, ...options.limits }
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: 4 * maxFrameBytes,
    clientTracking: false,
    handleProtocols: (offered) => offered.has(webSocketProtocol) && webSocketProtocol,
  })
  const { answerHeaders, onPresence } = options
  if (answerHeaders) addAnswerHeaders(server, answerHeaders)
  const peers = new Set<Peer>()
  const heart = setInterval(() => {
    for (const peer of peers) peer.beat()
  }, heartbeatMs)
  heart.unref()
  const stopListening = host.onSessionChanged((change) => {
    if (peers.size === 0) return
    const frame = changeFrame(change)
    for (const peer of peers) peer.send(change, frame)
  })

  return {
    get peers(): number {
      return peers.size
    },
    accept({ request, socket, head, isNode, principal, onSignedOut, mayAct }: Upgrade): void {
      server.handleUpgrade(request, socket, head, (websocket) => {
        const peer = new Peer(websocket, socket, {
          host: isNode ? host : hostFor(host, principal, 'websocket'),
          isNode,
          personId: principal.person.id,
          sees: (change) => isNode || seesChange(principal, change),
          logger,
          version,
          heartbeatMs,
          limits,
          maxFrameBytes,
          mayAct,
          present: (page, visible) => !isNode && onPresence?.(page, principal, visible),
        })
        peers.add(peer)
        onSignedOut(() => peer.signOut())
        websocket.once('close', () => peers.delete(peer))
      })
    },
    /** Notifies the clients of the person that a device was signed in. */
    announce({ deviceId, name, personId }: Device): void {
      const frame: ServerFrame = { type: 'device-added', device: { deviceId, name } }
      const bytes = encodeFrames([JSON.stringify(frame)])
      for (const peer of peers) peer.announce(personId, bytes)
    },
    close(): void {
      clearInterval(heart)
      stopListening()
      for (const peer of peers) peer.close()
    },
  }
}
