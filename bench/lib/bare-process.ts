import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { atPace, nextTick, stamp } from './pace.ts'
import { answer } from './processes.ts'

/**
 * The baseline: a sensible program with plain `ws`, and frames ready in memory. It sends each frame to each
 * client, yields to the event loop now and then, and waits for a client whose buffer grows.
 */
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
await once(server, 'listening')
server.on('connection', (client) => {
  client.on('message', () => void play().catch((error) => process.stderr.write(`${error}\n`)))
})

export type BarePlay =
  /** On any message from a client, sends the frames of the file, one per line, to every client. */
  | { readonly do: 'send'; readonly file: string; readonly each?: 'tick' }
  /** Sends the frame `before` + a time + `after`, `count` times at a steady rate, then `last`. */
  | {
      readonly do: 'stamp'
      readonly before: string
      readonly after: string
      readonly last: string
      readonly count: number
      readonly rate: number
    }

let task: BarePlay | undefined
let frames: string[] = []
const framesBetweenBreaths = 128
const maxBuffered = 1024 * 1024

async function play(): Promise<void> {
  const clients = [...server.clients].filter((client) => client.readyState === WebSocket.OPEN)
  if (task?.do === 'stamp') {
    const { before, after, last, count, rate } = task
    await atPace(rate, count, () => {
      for (const client of clients) client.send(before + stamp() + after)
    })
    for (const client of clients) client.send(last)
    return
  }
  const breath = task?.each === 'tick' ? 1 : framesBetweenBreaths
  const [only] = clients
  for (let index = 0; index < frames.length; index++) {
    if (clients.length === 1) only!.send(frames[index]!)
    else {
      const bytes = Buffer.from(frames[index]!)
      for (const client of clients) client.send(bytes, { binary: false })
    }
    if (index % breath !== breath - 1) continue
    do await nextTick()
    while (clients.some((client) => client.bufferedAmount > maxBuffered))
  }
}

const calls = {
  address: () => ({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
  prepare(given: BarePlay) {
    task = given
    frames = given.do === 'send' ? readFileSync(given.file, 'utf8').trimEnd().split('\n') : []
  },
}
export type PlainCalls = typeof calls

answer(calls)
