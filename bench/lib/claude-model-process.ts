import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerEvents, type ClaudeTask, piece, taskIn } from './claude-model.ts'
import { atPace, stamp } from './pace.ts'
import { answer } from './processes.ts'

/**
 * A model server on loopback. It streams the answer that the latest prompt describes. The answers are in
 * memory, so they add almost no time to the measurement.
 */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const task = request.method === 'POST' ? taskIn(Buffer.concat(chunks).toString()) : undefined
    if (!task) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    void play(task, response).catch(() => response.destroy())
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

let answers = 0

async function play(task: ClaudeTask, response: ServerResponse): Promise<void> {
  response.write(answerEvents.before(`msg_bench_${++answers}`))
  if (task.do === 'stream') response.write(flood(task.deltas))
  else await atPace(task.rate, task.count, () => response.write(answerEvents.delta(stamp())))
  response.end(answerEvents.after)
}

const floods = new Map<number, Buffer>()

function flood(deltas: number): Buffer {
  const bytes = floods.get(deltas) ?? Buffer.from(answerEvents.delta(piece).repeat(deltas))
  floods.set(deltas, bytes)
  return bytes
}

const calls = { address: () => ({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }) }
export type ClaudeModelCalls = typeof calls

answer(calls, () => server.closeAllConnections())
