import {
  errorInfoOf,
  signedOutCode,
  TerminalClientFrame,
  terminalClosed,
  webSocketProtocol,
} from '@parley/protocol'
import type { Logger } from 'pino'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Terminals, TerminalView } from '../../workspace/terminals.ts'
import { type AnswerHeaders, addAnswerHeaders, destroyAfter, type Upgrade } from '../sockets.ts'

const maxFrameBytes = 1024 * 1024
/** The time limit for a dropped reader to read the rest of its output and the reason. */
const lingerMs = 30_000

/**
 * Serves a terminal on its own WebSocket: first the current screen, then its output. The client sends input and sizes.
 */
export function createTerminalFace(options: {
  terminals: Terminals
  logger: Logger
  answerHeaders?: AnswerHeaders
}) {
  const { terminals, logger, answerHeaders } = options
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    handleProtocols: (offered) => offered.has(webSocketProtocol) && webSocketProtocol,
  })
  if (answerHeaders) addAnswerHeaders(server, answerHeaders)
  return {
    accept(terminalId: string, upgrade: Upgrade): void {
      const { request, socket, head, onSignedOut } = upgrade
      server.handleUpgrade(request, socket, head, (websocket) => {
        websocket.on('error', (error) => logger.debug({ err: error }, 'terminal socket failed'))
        try {
          const view = attend(websocket, upgrade, terminals, terminalId, logger)
          onSignedOut(() => {
            view.leave()
            websocket.removeAllListeners('message')
            websocket.close(signedOutCode, 'signed out')
          })
        } catch (error) {
          websocket.close(terminalClosed.notFound, errorInfoOf(error).message.slice(0, 120))
        }
      })
    },
  }
}

function attend(
  websocket: WebSocket,
  { socket, mayAct }: Upgrade,
  terminals: Terminals,
  terminalId: string,
  logger: Logger,
): TerminalView {
  const view: TerminalView = terminals.watch(terminalId, {
    show: (frame) => websocket.send(JSON.stringify(frame)),
    get waiting() {
      return socket.writableLength
    },
    drop() {
      logger.info({ terminalId }, 'slow reader of a terminal evicted')
      websocket.close(terminalClosed.tooSlow, 'read too slowly; connect again to get the screen')
      destroyAfter(lingerMs, socket)
    },
  })
  socket.on('drain', () => view.drained())
  websocket.on('close', () => view.leave())
  websocket.on('message', (data) => {
    if (!mayAct()) return
    const frame = frameOf(String(data))
    if (frame?.type === 'input') view.input(frame.data)
    else if (frame?.type === 'resize') view.resize(frame.cols, frame.rows)
    else websocket.close(terminalClosed.badFrame, 'not a valid terminal frame')
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
