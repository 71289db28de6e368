import { join } from 'node:path'
import { openEvents, post } from './http.ts'
import { printed, startServer } from './server-process.ts'
import type { Hear, Place, Side } from './side.ts'

/** The server of OpenCode, `opencode serve`. */
export const opencode: Side = {
  async start(place) {
    const server = startServer(place, [
      opencodeProgram(place),
      'serve',
      '--hostname',
      '127.0.0.1',
      '--port',
      '0',
    ])
    const url = await printed(server, /http:\/\/127\.0\.0\.1:\d+/)
    const query = `?directory=${encodeURIComponent(place.work)}`
    const health = await fetch(`${url}/global/health`)
    if (!health.ok) throw new Error(`OpenCode: ${health.status}`)
    await health.body?.cancel()
    return {
      startMs: performance.now() - server.begun,
      newSession: (prompt, hear) => newSession({ url, query, prompt, hear }),
      stop: server.stop,
    }
  },
}

export function opencodeProgram({ programs }: Pick<Place, 'programs'>): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  return join(programs.packages.opencode ?? '', `node_modules/opencode-${platform}/bin/opencode`)
}

type Event = {
  readonly type: string
  readonly properties: {
    readonly sessionID?: string
    readonly field?: string
    readonly delta?: string
    readonly error?: unknown
  }
}

async function newSession(server: { url: string; query: string; prompt: string; hear: Hear }) {
  const { url, query } = server
  const { id } = await post<{ id: string }>(`${url}/session${query}`, { title: 'bench' })
  let current = { hear: server.hear, turn: Promise.withResolvers<void>() }
  const listen = (take: (event: Event) => void) =>
    openEvents(`${url}/event${query}`, (event) => {
      if ((event as Event).properties.sessionID === id) take(event as Event)
    })
  await listen((event) => {
    hearDelta(event, current.hear)
    if (event.type === 'session.idle') current.turn.resolve()
    if (event.type === 'session.error') current.turn.reject(new Error(JSON.stringify(event.properties.error)))
  })
  const turn = async (text: string, hear: Hear) => {
    current = { hear, turn: Promise.withResolvers() }
    await post(`${url}/session/${id}/prompt_async${query}`, { parts: [{ type: 'text', text }] })
    await current.turn.promise
  }
  await turn(server.prompt, server.hear)
  return {
    prompt: turn,
    join: (hear: Hear) => listen((event) => hearDelta(event, hear)),
    async read(hear: Hear) {
      const response = await fetch(`${url}/session/${id}/message${query}`)
      for (const { info, parts } of (await response.json()) as StoredMessage[]) {
        if (info.role !== 'assistant') continue
        for (const { type, text } of parts) if (type === 'text' && text !== undefined) hear(text)
      }
    },
  }
}

type StoredMessage = {
  readonly info: { readonly role: string }
  readonly parts: readonly { readonly type: string; readonly text?: string }[]
}

function hearDelta({ type, properties: { field, delta } }: Event, hear: Hear): void {
  if (type === 'message.part.delta' && field === 'text' && delta !== undefined) hear(delta)
}
