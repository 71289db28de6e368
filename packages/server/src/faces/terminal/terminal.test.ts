import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { TerminalServerFrame } from '@parley/protocol'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type Parley, startParley } from '../../cli/start.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'

/** Tests terminals with real shells and the real server. */

const place = folderForFile()
const token = 'a-token-for-terminals'
// The start files of the user's own shell must not affect the tests.
beforeEach(() => void vi.stubEnv('HOME', place))
let parley: Parley | undefined
afterEach(async () => {
  await parley?.close()
  parley = undefined
})

async function start(): Promise<{
  id: string
  call: (method: string, path: string, body?: unknown) => Promise<Response>
}> {
  const dataDir = mkdtempSync(join(place, 'data-'))
  const logger = pino({ level: 'silent' })
  parley = await startParley({ dataDir, hostname: '127.0.0.1', port: 0, token, logger })
  const { url } = parley.http
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const { id } = await parley.host.create({ agent: 'demo', cwd: place })
  return { id, call }
}

class Watcher {
  readonly frames: TerminalServerFrame[] = []
  readonly socket: WebSocket
  closed: number | undefined
  #changed: () => void = () => undefined

  constructor(terminalId: string, authorization = `Bearer ${token}`) {
    const url = parley?.http.url.replace('http', 'ws')
    this.socket = new WebSocket(`${url}/api/terminals/${terminalId}`, { headers: { authorization } })
    this.socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)) as TerminalServerFrame)
      this.#changed()
    })
    this.socket.on('error', () => undefined)
    this.socket.on('close', (code) => {
      this.closed = code
      this.#changed()
    })
  }

  get text(): string {
    return this.frames.map((frame) => ('data' in frame ? frame.data : '')).join('')
  }

  async until(fact: () => boolean): Promise<void> {
    while (!fact()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }

  say(frame: unknown): void {
    this.socket.send(JSON.stringify(frame))
  }
}

async function opened({ id, call }: Awaited<ReturnType<typeof start>>): Promise<string> {
  const response = await call('POST', `/api/sessions/${id}/terminals`, { cols: 80, rows: 24 })
  expect(response.status).toBe(201)
  return ((await response.json()) as { terminalId: string }).terminalId
}

describe('a terminal', () => {
  it("is a shell in the session's folder, and outlives the page that shows it", async () => {
    const world = await start()
    const terminalId = await opened(world)
    const first = new Watcher(terminalId)
    await first.until(() => first.frames.length > 0)
    first.say({ type: 'input', data: 'pwd; stty size; echo be$((40+2))gun\n' })
    await first.until(() => first.text.includes('be42gun'))
    expect(first.text).toContain(place)
    expect(first.text).toContain('24 80')
    first.socket.close()

    const second = new Watcher(terminalId)
    await second.until(() => second.frames.length > 0)
    expect(second.frames[0]).toMatchObject({ type: 'screen', cols: 80, rows: 24 })
    expect(second.text).toContain('be42gun')
    second.say({ type: 'resize', cols: 100, rows: 30 })
    await second.until(() => second.frames.some(({ type }) => type === 'resized'))
    second.say({ type: 'input', data: 'stty size; exit 3\n' })
    await second.until(() => second.frames.some(({ type }) => type === 'exited'))
    expect(second.text).toContain('30 100')
    expect(second.frames.at(-1)).toEqual({ type: 'exited', exitCode: 3 })
    const listed = await world.call('GET', `/api/sessions/${world.id}/terminals`)
    expect(await listed.json()).toMatchObject({ terminals: [{ terminalId, exitCode: 3 }] })
  })

  it('loses no output in a flood, however slowly it is read', async () => {
    const world = await start()
    const watcher = new Watcher(await opened(world))
    await watcher.until(() => watcher.frames.length > 0)
    watcher.say({ type: 'input', data: 'stty -echo; seq 1 200000 | sed s/^/n/; echo d"one"\n' })
    await watcher.until(() => watcher.text.includes('done'))
    for (const line of ['n1\r\n', 'n99999\r\n', 'n200000\r\n']) expect(watcher.text.includes(line)).toBe(true)
    expect(watcher.text.match(/n\d+\r\n/g)?.length).toBe(200_000)
  })

  it('ends when it is deleted and when the server closes', async () => {
    const world = await start()
    const [one, two] = [await opened(world), await opened(world)]
    const watcher = new Watcher(one)
    await watcher.until(() => watcher.frames.length > 0)
    watcher.say({ type: 'input', data: 'echo pid=$$.\n' })
    await watcher.until(() => /pid=\d+\./.test(watcher.text))
    const pid = Number(/pid=(\d+)\./.exec(watcher.text)?.[1])
    expect((await world.call('DELETE', `/api/terminals/${two}`)).status).toBe(204)
    expect((await world.call('DELETE', `/api/terminals/${two}`)).status).toBe(404)
    await parley?.close()
    await expect.poll(() => isAlive(pid)).toBe(false)
  })

  it('can be resized and can receive input while it ends', async () => {
    const world = await start()
    for (let round = 0; round < 20; round++) {
      const watcher = new Watcher(await opened(world))
      await watcher.until(() => watcher.frames.length > 0)
      watcher.say({ type: 'input', data: 'exit\r' })
      let rows = 10
      while (!watcher.frames.some(({ type }) => type === 'exited')) {
        watcher.say({ type: 'resize', cols: 80, rows: 10 + (rows++ % 50) })
        watcher.say({ type: 'input', data: 'x' })
        await new Promise((resolve) => setImmediate(resolve))
      }
      watcher.socket.close()
    }
    expect((await world.call('GET', '/api/health')).status).toBe(200)
  })

  it('ends with its session, even if its program ignores signals', async () => {
    const world = await start()
    const watcher = new Watcher(await opened(world))
    await watcher.until(() => watcher.frames.length > 0)
    watcher.say({ type: 'input', data: 'echo pid=$$.; trap "" HUP; sleep 1000\n' })
    await watcher.until(() => /pid=\d+\./.test(watcher.text))
    const pid = Number(/pid=(\d+)\./.exec(watcher.text)?.[1])
    expect((await world.call('DELETE', `/api/sessions/${world.id}`)).status).toBe(204)
    await watcher.until(() => watcher.frames.some(({ type }) => type === 'exited'))
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
  })

  it('is refused without the token, if it does not exist, and with a bad request', async () => {
    const world = await start()
    const stranger = new Watcher(await opened(world), 'Bearer wrong')
    await stranger.until(() => stranger.closed !== undefined)
    expect(stranger.frames).toEqual([])
    const lost = new Watcher('trm_none')
    await lost.until(() => lost.closed !== undefined)
    expect(lost.closed).toBe(4004)
    const asked = await world.call('POST', `/api/sessions/${world.id}/terminals`, {
      cols: 80,
      rows: 24,
      run: 'agent',
    })
    expect(asked.status).toBe(422)
    const tiny = await world.call('POST', `/api/sessions/${world.id}/terminals`, { cols: 0, rows: 24 })
    expect(tiny.status).toBe(400)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
