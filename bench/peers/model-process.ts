import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerEvents } from '../lib/claude-model.ts'
import { atPace, stamp } from '../lib/pace.ts'
import { answer } from '../lib/processes.ts'
import { chatCompletions, type Dialect, prose, type Task, taskIn } from './model.ts'

/**
 * The model of all sides, on loopback. It streams the answer that the latest prompt describes, in the dialect of the
 * request. The answers are in memory, so they add almost no time to the measurement. A request without a task gets a
 * short answer.
 */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    void reply(request.url ?? '', Buffer.concat(chunks).toString(), response).catch(() => response.destroy())
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

let answers = 0

async function reply(url: string, body: string, response: ServerResponse): Promise<void> {
  if (url.includes('/count_tokens')) return void response.end('{"input_tokens":10}')
  const dialect = url.includes('/messages') ? answerEvents : chatCompletions
  if (!/\/(messages|chat\/completions)/.test(url) || body === '') return void response.writeHead(404).end()
  const request = JSON.parse(body) as Parameters<typeof taskIn>[0] & { stream?: boolean }
  if (!request.stream) {
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(whole(dialect))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const task = taskIn(request) ?? { do: 'write', deltas: 1 }
  await play(task, dialect, response)
}

async function play(task: Task, dialect: Dialect, response: ServerResponse): Promise<void> {
  response.write(dialect.before(`msg_bench_${++answers}`))
  if (task.do === 'write') response.write(flood(task.deltas, dialect))
  else await atPace(task.rate, task.count, () => response.write(dialect.delta(stamp())))
  response.end(dialect.after)
}

const floods = new Map<string, Buffer>()

function flood(deltas: number, dialect: Dialect): Buffer {
  const key = `${dialect === answerEvents} ${deltas}`
  const bytes = floods.get(key) ?? Buffer.from(prose(deltas).map(dialect.delta).join(''))
  floods.set(key, bytes)
  return bytes
}

function whole(dialect: Dialect): string {
  const usage = { input_tokens: 1, output_tokens: 1, prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  return JSON.stringify(
    dialect === answerEvents
      ? {
          ...{ id: 'msg_bench', type: 'message', role: 'assistant', model: 'bench', usage },
          content: [{ type: 'text', text: 'Yes.' }],
          stop_reason: 'end_turn',
        }
      : {
          ...{ id: 'bench', object: 'chat.completion', created: 1, model: 'bench', usage },
          choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
        },
  )
}

const calls = { address: () => ({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }) }
export type ModelCalls = typeof calls

answer(calls, () => server.closeAllConnections())
