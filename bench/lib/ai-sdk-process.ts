import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { UIMessageChunk } from 'ai7'
import { ai7 } from '../../packages/server/src/transcripts/ai-sdk-modules-under-test.ts'
import { answer } from './processes.ts'

/** The baseline: the AI SDK's own response, on the same kind of server, with chunks ready in memory. */
let chunks: UIMessageChunk[] = []

const respond = () =>
  ai7.createUIMessageStreamResponse({
    stream: new ReadableStream<UIMessageChunk>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk)
        controller.close()
      },
    }),
  })

const server = createServer(getRequestListener(respond, { overrideGlobalObjects: false }))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

const calls = {
  address: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  /** Loads the chunks of the file, one per line. */
  prepare(file: string) {
    chunks = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as UIMessageChunk)
    return chunks.length
  },
}
export type AiSdkCalls = typeof calls

answer(calls)
