import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AiSdkCalls } from './lib/ai-sdk-process.ts'
import { type Figure, LostError, milliseconds, perSecond } from './lib/figure.ts'
import { startProcess } from './lib/processes.ts'
import { chunkLines, readChunks } from './lib/read-chunks.ts'
import { type ParleyServer, startParleyServer } from './lib/servers.ts'
import { compare, inTurns, median } from './lib/stats.ts'

/** Chunks a second through the chat face, against the AI SDK's own response with the same chunks; and taking one up again. */
export const chat: Figure = {
  name: 'chat',
  async measure({ quick, folder }) {
    await using undo = new AsyncDisposableStack()
    const parley = await startParleyServer(folder)
    undo.defer(() => parley.remote.stop())
    const sdk = startProcess<AiSdkCalls>('./ai-sdk-process.ts')
    undo.defer(() => sdk.stop())
    const sdkUrl = await sdk.call('address')
    const page = createPage(parley, folder)
    const rounds = quick ? 3 : 7

    const deltas = quick ? 20_000 : 50_000
    const flood = [{ type: 'flood', deltas, size: 6, blocks: deltas / 250 }]
    await page.say('flood', flood)
    const { text } = await page.say('flood', flood, { keep: true })
    const lines = chunkLines(text)
    const file = join(folder, 'chunks.txt')
    writeFileSync(file, lines.join('\n'))
    const count = (await sdk.call('prepare', file)) + 1
    const bare = async () => {
      const { chunks, seconds } = await readChunks(() => fetch(sdkUrl, { method: 'POST' }))
      if (chunks !== count) throw new LostError(`The AI SDK sent ${chunks} of ${count} chunks.`)
      return chunks / seconds
    }
    const ours = async () => {
      const { chunks, seconds } = await page.say('flood', flood)
      if (chunks !== count) throw new LostError(`The chat face sent ${chunks} of ${count} chunks.`)
      return chunks / seconds
    }
    await bare()
    const rate = compare(await inTurns(rounds, ours, bare))

    const blocks = 3_333
    await page.begin(
      'resumed',
      [{ type: 'flood', deltas: blocks, size: 6, blocks }, { type: 'hang' }],
      blocks,
    )
    const whole = 3 * blocks
    const times: number[] = []
    for (let round = 0; round < rounds + 1; round++) {
      const { chunks, seconds } = await page.resume('resumed', whole)
      if (chunks < whole) throw new LostError(`${chunks} of ${whole} chunks came back.`)
      if (round > 0) times.push(seconds * 1000)
    }
    return [
      {
        figure: 'chunks through the chat face, one page',
        value: perSecond(rate.ours),
        baseline: perSecond(rate.bare),
        ratio: rate.ratio,
        aim: 'ratio >= 0.8',
        met: rate.ratio >= 0.8,
        data: rate,
      },
      {
        figure: 'resuming a response of 10,000 chunks',
        value: milliseconds(median(times)),
        data: { ms: median(times) },
      },
    ]
  },
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
    /** Leaves the response alone once it has said this many blocks. */
    begin: (id: string, script: readonly object[], blocks: number) =>
      readChunks(() => post(id, script), { enough: 3 * blocks }),
    resume: (id: string, enough: number) =>
      readChunks(() => fetch(`${parley.url}/api/chat/${id}/stream`, { headers }), { enough }),
  }
}
