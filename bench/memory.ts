import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Figure, type FigureInput, mebibytes, type Row } from './lib/figure.ts'
import { built, end, type Program, residentBytes, source, startProgram } from './lib/program.ts'
import { seed } from './lib/seed.ts'
import { type ParleyServer, promptCommand, startParleyServer } from './lib/servers.ts'
import { median } from './lib/stats.ts'

const MiB = 2 ** 20

/** The resident memory of the server: idle, with many stored sessions, and per live session. */
export const memory: Figure = {
  name: 'memory',
  async measure(input) {
    const program = built()
    const bare = await bareResident()
    const sourceIdle = await idle(source, join(input.folder, 'source'), input)
    const builtIdle = await idle(program, join(input.folder, 'built'), input)
    const stored = await withStored(program, input)
    return [
      idleRow('idle server, source', sourceIdle, bare),
      idleRow('idle server, built', builtIdle, bare),
      {
        figure: 'growth with 10,000 stored sessions',
        value: mebibytes(stored - builtIdle),
        baseline: mebibytes(builtIdle),
        ratio: stored / builtIdle,
        data: { stored, idle: builtIdle },
      },
      await liveRow(input),
    ]
  },
}

function idleRow(figure: string, bytes: number, bare: number): Row {
  return {
    figure,
    value: mebibytes(bytes),
    baseline: mebibytes(bare),
    ratio: bytes / bare,
    aim: '< 90 MiB',
    met: bytes < 90 * MiB,
    data: { bytes, bare },
  }
}

async function settled(pid: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  return residentBytes(pid)
}

async function idle(program: Program, dataDir: string, { quick }: FigureInput): Promise<number> {
  const sizes: number[] = []
  for (let round = 0; round < (quick ? 2 : 4); round++) {
    const { pid, stop } = await startProgram(program, dataDir)
    // The first start is not measured: it fills a cache of compiled code.
    if (round > 0) sizes.push(await settled(pid))
    await stop()
  }
  return median(sizes)
}

async function bareResident(): Promise<number> {
  const code =
    "require('node:http').createServer((_, reply) => reply.end('ok')).listen(0, () => console.log('ready'))"
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const size = await settled(child.pid!)
  await end(child)
  return size
}

async function withStored(program: Program, { folder }: FigureInput): Promise<number> {
  const dataDir = join(folder, 'many')
  await seed(
    dataDir,
    Array.from({ length: 10_000 }, (_, index) => ({ id: `ses_stored_${index}`, events: 12 })),
    folder,
  )
  const { pid, url, token, stop } = await startProgram(program, dataDir)
  const response = await fetch(`${url}/api/sessions?limit=100`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { sessions } = (await response.json()) as { sessions: unknown[] }
  if (sessions.length !== 100) throw new Error(`The list shows ${sessions.length} sessions.`)
  const size = await settled(pid)
  await stop()
  return size
}

/**
 * The memory, after a garbage collection, of a session that had a turn and whose agent is still connected.
 * The first 100 sessions are excluded, because they also load shared code and data.
 */
async function liveRow({ quick, folder }: FigureInput): Promise<Row> {
  const count = quick ? 100 : 800
  const parley = await startParleyServer(join(folder, 'live'), {
    limits: { maxConnections: 100 + count },
  })
  await openSessions(parley, 100, folder)
  const before = await parley.remote.call('memory')
  await openSessions(parley, count, folder)
  const after = await parley.remote.call('memory')
  await parley.remote.stop()
  const each = (after.rss - before.rss) / count
  const heapEach = (after.heapUsed + after.external - before.heapUsed - before.external) / count
  return {
    figure: `each live idle session (${mebibytes(heapEach)} of it heap)`,
    value: mebibytes(each),
    aim: '< 0.1 MiB',
    met: each < 0.1 * MiB,
    data: { each, heapEach, before: before.rss, after: after.rss },
  }
}

async function openSessions(parley: ParleyServer, count: number, cwd: string): Promise<void> {
  for (let index = 0; index < count; index++) {
    const session = await parley.createSession('scripted', cwd)
    await parley.request(
      'POST',
      `/api/sessions/${session}/commands`,
      promptCommand([{ type: 'text', text: 'Done.' }]),
    )
    for (;;) {
      const state = await parley.request<{ turns: number; connected: boolean }>(
        'GET',
        `/api/sessions/${session}?tail=0`,
      )
      if (state.turns === 1 && state.connected) break
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
}
