import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A replacement for OpenCode that starts the real one behind a TCP proxy. SIGUSR2 cuts the proxy and all its
 * connections; a second SIGUSR2 restores it. A file contains the current state.
 */
const [file = '', program = '', ...args] = process.argv.slice(2)
const real = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
real.on('exit', (code) => process.exit(code ?? 1))

const sockets = new Set<Socket>()
let isCut = false
process.on('SIGUSR2', () => {
  isCut = !isCut
  if (isCut) for (const socket of sockets) socket.destroy()
  writeFileSync(file, isCut ? 'cut' : 'whole')
})

let said = ''
real.stdout.setEncoding('utf8').on('data', (text: string) => {
  const before = said
  said += text
  const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
  if (port !== undefined && !before.includes('listening on')) openWire(Number(port))
})

function openWire(port: number): void {
  const wire = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  wire.listen(0, '127.0.0.1', () => {
    const { port: mine } = wire.address() as AddressInfo
    console.log(`opencode server listening on http://127.0.0.1:${mine}`)
  })
}
