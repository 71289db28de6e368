import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  errorInfoOf,
  signedOutCode,
  TerminalClientFrame,
  type TerminalServerFrame,
  webSocketProtocol,
} from '@parley/protocol'
import type { Logger } from 'pino'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Terminals, TerminalView } from '../../workspace/terminals.ts'

type Upgrade = {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  /** Calls when whoever asked is signed out. */
  readonly onSignedOut: (call: () => void) => void
}

export type TerminalFace = {
  /** Takes over an upgrade request that was let in. */
  accept(terminalId: string, upgrade: Upgrade): void
}

const mostBuffered = 1024 * 1024
const maxFrameBytes = 1024 * 1024

/** A terminal on a WebSocket of its own: the screen as it stands, then what is written; keys and sizes come back. */
export function createTerminalFace({
  terminals,
  logger,
}: {
  terminals: Terminals
  logger: Logger
}): TerminalFace {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    handleProtocols: (offered) => offered.has(webSocketProtocol) && webSocketProtocol,
  })
  return {
    accept(terminalId, { request, socket, head, onSignedOut }) {
      server.handleUpgrade(request, socket, head, (websocket) => {
        websocket.on('error', (error) => logger.debug({ err: error }, 'terminal socket failed'))
        try {
          const view = attend(websocket, socket, terminals, terminalId)
          onSignedOut(() => {
            view.leave()
            websocket.removeAllListeners('message')
            websocket.close(signedOutCode, 'signed out')
          })
        } catch (error) {
          websocket.close(4004, errorInfoOf(error).message.slice(0, 120))
        }
      })
    },
  }
}

function attend(
  websocket: WebSocket,
  socket: Duplex,
  terminals: Terminals,
  terminalId: string,
): TerminalView {
  const view: TerminalView = terminals.watch(terminalId, (frame: TerminalServerFrame) => {
    websocket.send(JSON.stringify(frame))
    return socket.writableLength < mostBuffered
  })
  socket.on('drain', () => view.resume())
  websocket.on('close', () => view.leave())
  websocket.on('message', (data) => {
    const frame = frameOf(String(data))
    if (frame?.type === 'input') view.input(frame.data)
    else if (frame?.type === 'resize') view.resize(frame.cols, frame.rows)
    else websocket.close(4000, 'not a frame of a terminal')
  })
  return view
}

function frameOf(text: string): TerminalClientFrame | undefined {
  try {
    return TerminalClientFrame.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
