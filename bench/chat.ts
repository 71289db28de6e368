import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AiSdkCalls } from './lib/ai-sdk-process.ts'
import { type Figure, LostError, milliseconds, perSecond, type Row } from './lib/figure.ts'
import { startProcess } from './lib/processes.ts'
import { type ChunksRead, chunkLines, readChunks } from './lib/read-chunks.ts'
import { type ParleyServer, startParleyServer } from './lib/servers.ts'
import { compare, inTurns } from './lib/stats.ts'

/**
 * Chunks per second through the chat face, and the time to resume a response. Both are compared with the AI SDK's own
 * response with the same chunks ready in memory.
 */
export const chat: Figure = {
  name: 'chat',
  async measure({ quick, folder }) {
    await using undo = new AsyncDisposableStack()
    const parley = await startParleyServer(folder)
    undo.defer(() => parley.remote.stop())
    const sdk = startProcess<AiSdkCalls>('./ai-sdk-process.ts')
    undo.defer(() => sdk.stop())
    const url = await sdk.call('address')
    const sides: Sides = {
      page: createPage(parley, folder),
      rounds: quick ? 3 : 7,
      /**
       * Loads the same chunks into the AI SDK's own response. Returns a function that reads the response, and
       * the number of its chunks.
       */
      async bare(text) {
        const file = join(folder, 'chunks.txt')
        const frames = text.slice(0, text.lastIndexOf('\n\n') + 2)
        writeFileSync(file, chunkLines(frames).join('\n'))
        const count = (await sdk.call('prepare', file)) + 1
        const read = async () => whole(await readChunks(() => fetch(url, { method: 'POST' })), count)
        return { count, read }
      },
    }
    return [await streamed(sides, quick ? 20_000 : 50_000), await resumed(sides)]
  },
}

type Sides = {
  readonly page: ReturnType<typeof createPage>
  readonly rounds: number
  readonly bare: (text: string) => Promise<{ count: number; read: () => Promise<ChunksRead> }>
}

function whole(read: ChunksRead, count: number, most = count): ChunksRead {
  if (read.chunks < count || read.chunks > most)
    throw new LostError(`${read.chunks} of ${count} chunks came.`)
  return read
}

async function streamed({ page, rounds, bare }: Sides, deltas: number): Promise<Row> {
  const flood = [{ type: 'flood', deltas, size: 6, blocks: deltas / 250 }]
  await page.say('flood', flood)
  const { count, read } = await bare((await page.say('flood', flood, { keep: true })).text)
  const perSecondOf = ({ chunks, seconds }: ChunksRead) => chunks / seconds
  const ours = async () => perSecondOf(whole(await page.say('flood', flood), count))
  await read()
  const rate = compare(await inTurns(rounds, ours, async () => perSecondOf(await read())))
  return {
    figure: 'chunks through the chat face, one page',
    value: perSecond(rate.ours),
    baseline: perSecond(rate.bare),
    ratio: rate.ratio,
    aim: 'ratio >= 0.8',
    met: rate.ratio >= 0.8,
    data: rate,
  }
}

/** Measures resuming a running turn: its content so far is sent as chunks from the log, all at once. */
async function resumed({ page, rounds, bare }: Sides): Promise<Row> {
  const blocks = 3_333
  const enough = 3 * blocks
  await page.begin('resumed', [{ type: 'flood', deltas: blocks, size: 6, blocks }, { type: 'hang' }], enough)
  const again = async (options = {}) =>
    whole(await page.resume('resumed', { enough, ...options }), enough, enough + 100)
  const { read } = await bare((await again({ keep: true })).text)
  await read()
  const ms = async (reading: Promise<ChunksRead>) => (await reading).seconds * 1000
  const time = compare(
    await inTurns(
      rounds,
      () => ms(again()),
      () => ms(read()),
    ),
  )
  return {
    figure: 'resuming a response of 10,000 chunks',
    value: milliseconds(time.ours),
    baseline: milliseconds(time.bare),
    ratio: time.ratio,
    data: time,
  }
}

let messages = 0

function createPage(parley: ParleyServer, cwd: string) {
  const { token } = parley.socket
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (id: string, script: readonly object[]) => {
    const parts = [{ type: 'text', text: JSON.stringify(script) }]
    const message = { id: `m${++messages}`, role: 'user', parts }
    const body = JSON.stringify({
      id,
      agent: 'scripted',
      cwd,
      messages: [message],
      trigger: 'submit-message',
    })
    return fetch(`${parley.url}/api/chat`, { method: 'POST', headers, body })
  }
  return {
    say: (id: string, script: readonly object[], options?: Parameters<typeof readChunks>[1]) =>
      readChunks(() => post(id, script), options),
    /** Starts a turn, and stops reading the response after `enough` chunks. */
    begin: (id: string, script: readonly object[], enough: number) =>
      readChunks(() => post(id, script), { enough }),
    resume: (id: string, options: Parameters<typeof readChunks>[1]) =>
      readChunks(() => fetch(`${parley.url}/api/chat/${id}/stream`, { headers }), options),
  }
}
