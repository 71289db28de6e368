import { connect, createServer, type Server, type Socket } from 'node:net'

/** A proxy to a local port that can be closed, opened again at the same address, cut, or stalled. */
export class TcpProxy implements AsyncDisposable {
  /** The local port to which the proxy connects. */
  target: number
  /** Maps each socket to the socket to which its data is written. */
  readonly #sockets = new Map<Socket, Socket>()
  #server: Server | undefined
  #port = 0
  #stalled = false

  private constructor(target: number) {
    this.target = target
  }

  static async open(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await proxy.open()
    return proxy
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async open(): Promise<void> {
    const server = createServer((incoming) => {
      const outgoing = connect(this.target, '127.0.0.1')
      for (const [from, to] of [
        [incoming, outgoing],
        [outgoing, incoming],
      ] as const) {
        this.#sockets.set(from, to)
        from.once('close', () => {
          this.#sockets.delete(from)
          to.destroy()
        })
        from.on('error', () => undefined)
        if (!this.#stalled) from.pipe(to)
      }
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.#port, '127.0.0.1', resolve)
    })
    this.#server = server
    this.#port = (server.address() as { port: number }).port
  }

  /** Stops passing data in both directions, without closing a connection. */
  stall(): void {
    if (this.#stalled) return
    this.#stalled = true
    for (const [from, to] of this.#sockets) from.unpipe(to)
  }

  /** Passes the data that was held back, and all later data. */
  resume(): void {
    if (!this.#stalled) return
    this.#stalled = false
    for (const [from, to] of this.#sockets) from.pipe(to)
  }

  /** Resets every connection. */
  cut(): void {
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    const closed = new Promise((resolve) => server.close(resolve))
    this.cut()
    await closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
