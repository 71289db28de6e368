import type { TerminalClientFrame, TerminalServerFrame } from '@parley/protocol'
import { client } from '../page/client.ts'

export type TerminalSocket = {
  send(frame: TerminalClientFrame): void
  close(): void
}

const noSuchTerminal = 4004
const retryMs = 1000

/** A terminal's own WebSocket. Whenever it opens, the first frame is the screen as it stands: nothing to remember here. */
export function openTerminalSocket(
  terminalId: string,
  listener: { onFrame(frame: TerminalServerFrame): void; onState(state: 'open' | 'lost' | 'gone'): void },
): TerminalSocket {
  const address = `${client.http.url.replace(/^http/, 'ws')}/api/terminals/${encodeURIComponent(terminalId)}`
  let socket: WebSocket | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let over = false

  function connect(): void {
    socket = new WebSocket(address)
    socket.onopen = () => listener.onState('open')
    socket.onmessage = ({ data }) => listener.onFrame(JSON.parse(String(data)) as TerminalServerFrame)
    socket.onclose = ({ code }) => {
      if (over) return
      listener.onState(code === noSuchTerminal ? 'gone' : 'lost')
      if (code !== noSuchTerminal) timer = setTimeout(connect, retryMs)
    }
  }
  connect()
  return {
    send(frame) {
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
    },
    close() {
      over = true
      clearTimeout(timer)
      socket?.close()
    },
  }
}
