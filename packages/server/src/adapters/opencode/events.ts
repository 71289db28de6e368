import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'

const firstPauseMs = 50
const maxPauseMs = 1_000

/**
 * The events of a folder, as long as the server runs. The stream has no cursor: each time it starts, it sends
 * `server.connected`, and the reader must then find out which events it missed. The stream is read only as fast as
 * the reader takes the events.
 */
export async function* readEvents(
  client: OpencodeClient,
  { alive, signal }: { alive: () => boolean; signal: AbortSignal },
): AsyncGenerator<unknown, void> {
  let pauseMs = firstPauseMs
  while (!signal.aborted && alive()) {
    const { stream } = await client.event.subscribe({}, { signal, sseMaxRetryAttempts: 1 })
    for await (const event of stream) {
      pauseMs = firstPauseMs
      yield event
    }
    await pause(pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, maxPauseMs)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
