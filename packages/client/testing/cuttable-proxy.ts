import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy on loopback whose connections can be cut, paused and refused, as on a bad network. */
export type CuttableProxy = AsyncDisposable & {
  readonly url: string
  /** Destroys every connection at once, without a close handshake. */
  cut(): void
  /** Stops the transfer in both directions; connections stay open. */
  pause(): void
  resume(): void
  /** New connections are refused at once; those that are open are cut. */
  refuse(): void
  accept(): void
  readonly connections: number
}

export async function startCuttableProxy(target: string): Promise<CuttableProxy> {
  const { hostname, port } = new URL(target)
  const pairs = new Set<readonly [Socket, Socket]>()
  let refusing = false
  let paused = false

  const server = createServer({ pauseOnConnect: true }, (inner) => {
    if (refusing) return void inner.resetAndDestroy()
    const outer = connect({ host: hostname, port: Number(port) })
    const pair = [inner, outer] as const
    pairs.add(pair)
    for (const [one, other] of [pair, pair.toReversed() as [Socket, Socket]] as const) {
      one.setNoDelay(true)
      one.on('data', (chunk) => {
        if (!other.destroyed) other.write(chunk)
      })
      one.on('end', () => other.end())
      one.on('error', () => other.destroy())
      one.on('close', () => {
        other.destroy()
        pairs.delete(pair)
      })
    }
    if (paused) outer.pause()
    else inner.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const each = (act: (socket: Socket) => void) => {
    for (const pair of [...pairs]) pair.forEach(act)
  }
  const cut = () => each((socket) => socket.destroy())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    pause() {
      paused = true
      each((socket) => socket.pause())
    },
    resume() {
      paused = false
      each((socket) => socket.resume())
    },
    refuse() {
      refusing = true
      cut()
    },
    accept() {
      refusing = false
    },
    get connections() {
      return pairs.size
    },
    async [Symbol.asyncDispose]() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
