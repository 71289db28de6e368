import { join } from 'node:path'
import postgres from 'postgres'
import { TcpProxy } from '../packages/server/src/testing/tcp-proxy.ts'
import { type Figure, LostError, milliseconds, type Row } from './lib/figure.ts'
import type { NodeAppendsCalls } from './lib/node-appends-process.ts'
import { NodeFleet } from './lib/node-fleet.ts'
import type { NodeStreamsCalls } from './lib/node-streams-process.ts'
import { startProcess } from './lib/processes.ts'
import type { ReaderCalls } from './lib/reader-process.ts'
import { type ParleyServer, promptCommand, promptFrame, startParleyServer } from './lib/servers.ts'
import { compare, inTurns, median, percentile } from './lib/stats.ts'
import { openWebSocketReader } from './lib/websocket-reader.ts'

const leaseMs = 3_000
const longestWaitMs = 30_000

type Input = { readonly fleet: NodeFleet; readonly folder: string; readonly quick: boolean }

/**
 * Several nodes on one PostgreSQL. BENCH_SESSIONS and BENCH_SECONDS set the number of sessions that stream at once, and
 * the duration.
 */
export const nodes: Figure = {
  name: 'nodes',
  async measure({ quick, folder }) {
    await using fleet = await NodeFleet.open(folder)
    const input = { fleet, folder, quick }
    const rows = [...(await measureDeltas(input)), await measureAppends(input)]
    rows.push(...(await measureStreams(input)), ...(await measureLists(input)))
    rows.push(await measureKill(input), ...(await measurePauses(input)))
    return rows
  },
}

/** The added latency of a delta for a reader on another node, compared with a reader on the node of the owner. */
async function measureDeltas({ fleet, folder, quick }: Input): Promise<Row[]> {
  const readers = startProcess<ReaderCalls>('./reader-process.ts')
  try {
    const rows: Row[] = []
    for (const rate of quick ? [200] : [200, 1_000]) {
      const [owner, other] = fleet.nodes as [ParleyServer, ParleyServer]
      const ages = async (name: string, node: ParleyServer) => {
        const session = await owner.createSession('bench', folder)
        await readers.call('open', { name, address: node.socket, count: 1, session })
        return async (count: number) =>
          (await readers.call('ages', { name, go: promptFrame(session, { do: 'stamp', count, rate }) })).ages
      }
      const elsewhere = await ages('elsewhere', other)
      const here = await ages('here', owner)
      for (const warm of [elsewhere, here]) await warm(rate)
      const far: number[] = []
      const near: number[] = []
      for (let round = 0; round < (quick ? 2 : 14); round++) {
        far.push(...(await elsewhere(rate)))
        near.push(...(await here(rate)))
      }
      if (far.length !== near.length)
        throw new LostError(`${far.length} deltas arrived on the other node, ${near.length} on the owner.`)
      rows.push(addedRow(rate, 50, { far, near, aim: 2 }), addedRow(rate, 99, { far, near, aim: 10 }))
    }
    return rows
  } finally {
    await readers.stop()
  }
}

function addedRow(
  rate: number,
  percent: number,
  { far, near, aim }: { far: readonly number[]; near: readonly number[]; aim: number },
): Row {
  const elsewhere = percentile(far, percent) / 1000
  const here = percentile(near, percent) / 1000
  return {
    figure: `delta on another node at ${rate.toLocaleString('en')}/s, p${percent}`,
    value: `${elsewhere < here ? '' : '+'}${milliseconds(elsewhere - here)}`,
    baseline: milliseconds(here),
    ratio: elsewhere / here,
    aim: `< ${aim} ms`,
    met: elsewhere - here < aim,
    data: { elsewhere, here },
  }
}

/** The time of an append through core, until it is announced, compared with a bare append of the same driver. */
async function measureAppends({ fleet, folder, quick }: Input): Promise<Row> {
  const databaseUrl = await fleet.postgres.database()
  const process = startProcess<NodeAppendsCalls>('./node-appends-process.ts', { databaseUrl, folder })
  try {
    const count = quick ? 100 : 300
    await process.call('ours', count)
    await process.call('bare', count)
    const result = compare(
      await inTurns(
        quick ? 7 : 15,
        () => process.call('ours', count),
        () => process.call('bare', count),
      ),
    )
    return {
      figure: 'append on PostgreSQL, p50',
      value: milliseconds(result.ours),
      baseline: milliseconds(result.bare),
      ratio: result.ratio,
      aim: 'ratio < 1.3',
      met: result.ratio < 1.3,
      data: result,
    }
  } finally {
    await process.stop()
  }
}

/** The time to get the first page of a list and of a search, over HTTP, compared with the bare query. */
async function measureLists({ fleet, quick }: Input): Promise<Row[]> {
  const count = quick ? 2_000 : 10_000
  const total = count.toLocaleString('en')
  await fleet.seed(count)
  const sql = postgres(fleet.databaseUrl, { max: 1, onnotice: () => undefined })
  const [node] = fleet.nodes as [ParleyServer]
  const measure = async (figure: string, input: { path: string; where: string; aim: number }) => {
    const timed = async (work: () => PromiseLike<unknown>) => {
      const start = performance.now()
      await work()
      return performance.now() - start
    }
    const order = 'ORDER BY pinned DESC, updated_at DESC, id LIMIT 51'
    const query = `SELECT state, place FROM parley.sessions ${input.where} ${order}`
    const ours = () => timed(() => node.request('GET', input.path))
    const bare = () => timed(() => sql.unsafe(query, [], { prepare: true }))
    await inTurns(5, ours, bare)
    const result = compare(await inTurns(quick ? 20 : 100, ours, bare))
    return {
      figure,
      value: milliseconds(result.ours),
      baseline: milliseconds(result.bare),
      ratio: result.ratio,
      aim: `< ${input.aim} ms`,
      met: result.ours < input.aim,
      data: result,
    }
  }
  try {
    const where = "WHERE strpos(search, 'seeded-1042') > 0"
    return [
      await measure(`list 50 of ${total} sessions`, { path: '/api/sessions?limit=50', where: '', aim: 10 }),
      await measure(`search ${total} sessions`, {
        path: '/api/sessions?limit=50&q=seeded-1042',
        where,
        aim: 30,
      }),
    ]
  } finally {
    await sql.end()
  }
}

/** Lets many sessions stream at once. Each is prompted and followed on another node than its owner. */
async function measureStreams({ fleet, folder, quick }: Input): Promise<Row[]> {
  const count = Number(process.env.BENCH_SESSIONS ?? (quick ? 60 : 300))
  const seconds = Number(process.env.BENCH_SECONDS ?? (quick ? 5 : 60))
  const rate = 10
  const streams = startProcess<NodeStreamsCalls>('./node-streams-process.ts')
  const at = (index: number) => fleet.nodes[index % fleet.nodes.length]!
  try {
    const owned = await Promise.all(
      fleet.nodes.map(async (node, index) => {
        const ids: string[] = []
        while (ids.length * fleet.nodes.length + index < count)
          ids.push(await node.createSession('bench', folder))
        return { ids, follower: at(index + 1), reader: at(index + 2) }
      }),
    )
    for (const { ids, follower } of owned) await streams.call('follow', { address: follower.socket, ids })
    const start = performance.now()
    await Promise.all(
      owned.map(async ({ ids, follower }) => {
        for (const id of ids) {
          const task = promptCommand({ do: 'work', count: rate * seconds, rate })
          await follower.request('POST', `/api/sessions/${id}/commands`, task)
        }
      }),
    )
    const deadline = start + 3 * seconds * 1000 + longestWaitMs
    let isOver = false
    while (!isOver && performance.now() < deadline) isOver = await streams.call('ended', 10_000)
    const took = (performance.now() - start) / 1000
    let equal = 0
    for (const { ids, reader } of owned) equal += await streams.call('check', { address: reader.socket, ids })
    const { problems, deltas } = await streams.call('close')
    for (const problem of problems.slice(0, 10)) console.error(problem)
    return [
      {
        figure: `${count.toLocaleString('en')} sessions stream over 3 nodes, with equal folds`,
        value: `${equal} in ${took.toFixed(0)} s`,
        baseline: `${count} in ${seconds} s`,
        ratio: equal / count,
        aim: 'nothing lost',
        met: isOver && equal === count && problems.length === 0,
        data: { count, equal, seconds, took, deltas, problems: problems.length },
      },
    ]
  } finally {
    await streams.stop()
  }
}

/**
 * The time from the kill of the owner to the first append of another node, compared with a server that is restarted.
 */
async function measureKill(input: Input): Promise<Row> {
  const { fleet, quick } = input
  const times: number[] = []
  for (let round = 0; round < (quick ? 5 : 50); round++) {
    const owner = await fleet.start()
    times.push(await takeoverMs(input, owner, () => process.kill(owner.remote.pid, 'SIGKILL')))
  }
  const restarts: number[] = []
  for (let round = 0; round < (quick ? 1 : 5); round++) restarts.push(await restartMs(input, round))
  const p99 = percentile(times, 99)
  const restart = median(restarts)
  return {
    figure: `takeover after SIGKILL, p99 of ${times.length}`,
    value: milliseconds(p99),
    baseline: milliseconds(restart),
    ratio: p99 / restart,
    aim: '< 1 s',
    met: p99 < 1_000,
    data: { p50: median(times), p99, most: Math.max(...times), restart },
  }
}

/** The time from the pause of an owner, or of all its connections, to the first append of another node. */
async function measurePauses(input: Input): Promise<Row[]> {
  const rounds = input.quick ? 1 : 10
  const stopped: number[] = []
  const cut: number[] = []
  for (let round = 0; round < rounds; round++) {
    const owner = await input.fleet.start()
    stopped.push(await takeoverMs(input, owner, () => process.kill(owner.remote.pid, 'SIGSTOP')))
    process.kill(owner.remote.pid, 'SIGKILL')
    cut.push(await blackHoleMs(input))
  }
  return [
    { name: 'SIGSTOP', times: stopped },
    { name: 'a black hole', times: cut },
  ].map(({ name, times }) => {
    const most = Math.max(...times)
    return {
      figure: `takeover after ${name}, longest of ${times.length}`,
      value: milliseconds(most),
      baseline: milliseconds(leaseMs),
      ratio: most / leaseMs,
      aim: '< 4 s',
      met: most < 4_000,
      data: { p50: median(times), most },
    }
  })
}

/**
 * The time of a takeover if all packets are lost between the owner and PostgreSQL, and between the other nodes and the
 * owner.
 */
async function blackHoleMs(input: Input): Promise<number> {
  const databaseUrl = new URL(input.fleet.databaseUrl)
  await using database = await TcpProxy.open(Number(databaseUrl.port))
  await using inbound = await TcpProxy.open(0)
  databaseUrl.port = String(database.port)
  const owner = await input.fleet.start({ databaseUrl: databaseUrl.href, nodeUrl: inbound.url })
  inbound.target = Number(new URL(owner.url).port)
  try {
    return await takeoverMs(input, owner, () => {
      database.stall()
      inbound.stall()
    })
  } finally {
    process.kill(owner.remote.pid, 'SIGKILL')
  }
}

/**
 * The time from the failure that `strike` causes to the first event that a reader on another node gets. Until
 * the failure, the session streams only deltas.
 */
async function takeoverMs(
  { fleet, folder }: Input,
  owner: ParleyServer,
  strike: () => void,
): Promise<number> {
  const session = await owner.createSession('bench', folder)
  const reader = await openWebSocketReader(fleet.nodes[0]!.socket)
  try {
    reader.send('{"type":"hello","client":"bench"}')
    const live = reader.until({ type: 'caught-up' })
    reader.send(JSON.stringify({ type: 'follow', session }))
    await live
    const streaming = reader.until({ type: 'delta' })
    reader.send(promptFrame(session, { do: 'stamp', count: 1_000_000, rate: 20 }))
    await inTime(streaming, 'The session did not stream.')
    // The failure comes at a random time between two extensions of the owner's lease.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 750))
    const taken = reader.until({ type: 'event' })
    const start = performance.now()
    strike()
    await inTime(taken, 'No node took the session over.')
    return performance.now() - start
  } finally {
    reader.close()
  }
}

/** The time from the kill of a server on SQLite until it has been started again and has appended to the session. */
async function restartMs({ folder }: Input, round: number): Promise<number> {
  const dataDir = join(folder, `restart-${round}`)
  const first = await startParleyServer(dataDir)
  const session = await first.createSession('bench', folder)
  const command = promptCommand({ do: 'stamp', count: 1_000_000, rate: 20 })
  await first.request('POST', `/api/sessions/${session}/commands`, command)
  const head = async ({ request }: ParleyServer) =>
    (await request<{ head: number }>('GET', `/api/sessions/${session}/events?limit=1`)).head
  const before = await head(first)
  const start = performance.now()
  process.kill(first.remote.pid, 'SIGKILL')
  const second = await startParleyServer(dataDir)
  while ((await head(second)) <= before);
  const took = performance.now() - start
  await second.remote.stop()
  return took
}

async function inTime<T>(work: Promise<T>, problem: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(problem)), longestWaitMs)
  })
  return await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
