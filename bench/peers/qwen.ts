import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openEvents, post } from './http.ts'
import { printed, startServer } from './server-process.ts'
import type { Hear, Place, Side } from './side.ts'

/** The server of Qwen Code, `qwen serve`, without its page. */
export const qwen: Side = {
  async start(place) {
    const args = ['serve', '--no-web', '--hostname', '127.0.0.1', '--port', '0', '--workspace', place.work]
    const server = startServer(place, [process.execPath, qwenEntry(place), ...args])
    const url = await printed(server, /http:\/\/127\.0\.0\.1:\d+/)
    const health = await fetch(`${url}/health`)
    if (!health.ok) throw new Error(`qwen serve: ${health.status}`)
    await health.body?.cancel()
    return {
      startMs: performance.now() - server.begun,
      newSession: (prompt, hear) => newSession(url, place, { prompt, hear }),
      stop: server.stop,
    }
  },
}

export const qwenEntry = ({ programs }: Pick<Place, 'programs'>) =>
  join(programs.packages.qwen ?? '', 'node_modules/@qwen-code/qwen-code/cli-entry.js')

/** The environment of Qwen Code, for `qwen serve` and for Parley: the model on loopback, and no other traffic. */
export function qwenEnvironment(modelUrl: string, home: string): Record<string, string> {
  mkdirSync(join(home, '.qwen'), { recursive: true })
  const settings = {
    security: { auth: { selectedType: 'openai' } },
    model: { name: 'bench' },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    // These call the model after every turn.
    ui: { enableFollowupSuggestions: false },
    memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  }
  writeFileSync(join(home, '.qwen', 'settings.json'), JSON.stringify(settings))
  return {
    OPENAI_API_KEY: 'placeholder',
    OPENAI_BASE_URL: `${modelUrl}/v1`,
    OPENAI_MODEL: 'bench',
    QWEN_DISABLE_AUTO_TITLE: '1',
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
  }
}

type Event = {
  readonly type: string
  readonly data: {
    readonly promptId?: string
    readonly sessionUpdate?: string
    readonly content?: { readonly text?: string }
    readonly update?: { readonly sessionUpdate?: string; readonly content?: { readonly text?: string } }
  }
}

async function newSession(url: string, { work }: Place, first: { prompt: string; hear: Hear }) {
  const session = await post<{ sessionId: string }>(`${url}/session`, { cwd: work, sessionScope: 'thread' })
  const address = `${url}/session/${session.sessionId}`
  let current = { hear: first.hear, turn: Promise.withResolvers<void>() }
  const events = `${address}/events?maxQueued=2048`
  await openEvents(events, (event) => {
    hearText(event as Event, current.hear)
    const { type } = event as Event
    if (type === 'turn_complete') current.turn.resolve()
    if (type === 'turn_error' || type === 'client_evicted' || type === 'session_died')
      current.turn.reject(new Error(JSON.stringify(event)))
  })
  const turn = async (text: string, hear: Hear) => {
    current = { hear, turn: Promise.withResolvers() }
    await post(`${address}/prompt`, { prompt: [{ type: 'text', text }] })
    await current.turn.promise
  }
  await turn(first.prompt, first.hear)
  return {
    prompt: turn,
    join: (hear: Hear) => openEvents(events, (event) => hearText(event as Event, hear)),
    async read(hear: Hear) {
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const query: string = cursor && `?cursor=${encodeURIComponent(cursor)}`
        const response = await fetch(`${address}/transcript${query}`)
        const page = (await response.json()) as { events: Event[]; nextCursor?: string }
        for (const event of page.events) hearText(event, hear)
        cursor = page.nextCursor
      }
    },
  }
}

function hearText({ type, data }: Event, hear: Hear): void {
  const { sessionUpdate, content } = data?.update ?? data ?? {}
  if (type === 'session_update' && sessionUpdate === 'agent_message_chunk' && content?.text !== undefined)
    hear(content.text)
}
