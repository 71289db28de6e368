import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SessionEvent } from '@parley/protocol'
import { beforeAll, expect, it } from 'vitest'
import { openSqliteStore } from '../../stores/sqlite.ts'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { testToken, websocketUnderTest } from './websocket-under-test.ts'

/** Tests one damaged row in the database: every face reads the other rows and reports the missing event. */

const folder = folderForFile()
const whole = join(folder, 'whole.sqlite')
const formats = ['jsonl', 'markdown', 'html', 'ui-messages', 'incoming-messages', 'run-events']
let session = ''
let types: string[] = []

beforeAll(async () => {
  await serving(whole, fill)
  const store = openSqliteStore({ file: whole })
  const events = await store.read(session, { limit: 1000 })
  types = events.map(({ json }) => (JSON.parse(json) as SessionEvent).type)
  await store.close()
})

async function serving(file: string, look: (served: Served) => Promise<void>): Promise<void> {
  const store = openSqliteStore({ file })
  try {
    await using served = await websocketUnderTest({ store })
    await look(served)
  } finally {
    await store.close()
  }
}

async function fill(served: Served): Promise<void> {
  session = await served.create('one')
  await served.create('another')
  await served.play(
    session,
    { type: 'thinking', text: 'let me see' },
    { type: 'text', text: 'first words' },
    { type: 'tool', name: 'Read', kind: 'read', title: 'read a.txt' },
    { type: 'notice', level: 'warning', code: 'x', text: 'careful' },
    { type: 'text', text: 'last words' },
  )
  await served.play(session, { type: 'text', text: 'second turn' })
}

async function playTurn({ host }: Served): Promise<void> {
  const text = JSON.stringify([{ type: 'text', text: 'it goes on' }])
  const { seq } = await host.command(session, { type: 'prompt.submit', commandId: 'go on', text })
  for await (const event of host.events(session, { after: seq })) if (event.type === 'turn.ended') return
}

const damages = {
  'cut off': 'substr(body, 1, length(body) - 5)',
  'no text': "x'ff00ff'",
  empty: "''",
} as const

async function withDamage(sql: string, look: (served: Served) => Promise<void>): Promise<void> {
  const file = join(folder, `damaged-${Math.random()}.sqlite`)
  copyFileSync(whole, file)
  const database = new DatabaseSync(file)
  expect(database.prepare(sql).run().changes).toBe(1)
  database.close()
  await serving(file, look)
}
type Served = Awaited<ReturnType<typeof websocketUnderTest>>

async function ask({ port }: Served, path: string): Promise<string> {
  const headers = { authorization: `Bearer ${testToken}` }
  const answer = await fetch(`http://127.0.0.1:${port}/api/sessions${path}`, { headers })
  expect([path, answer.status]).toEqual([path, 200])
  return answer.text()
}

async function lookAtAll(served: Served, seq: number): Promise<void> {
  const { events } = JSON.parse(await ask(served, `/${session}/events`)) as { events: SessionEvent[] }
  expect(events.map(({ seq }) => seq)).toEqual(types.map((_, index) => index + 1))
  expect(events.map((event) => SessionEvent.safeParse(event).success)).toEqual(types.map(() => true))
  const missing = { type: 'agent.noticed', code: 'event-unreadable', seq }
  const kept = (event: SessionEvent, index: number) =>
    event.type === types[index] && !('code' in event && event.code === missing.code)
  expect(events.filter((event, index) => !kept(event, index))).toMatchObject([missing])

  const client = await served.connect()
  client.send({ type: 'follow', session, after: 0 })
  await client.until((frame) => frame.type === 'caught-up')
  const reported = client.frames.flatMap((frame) => (frame.type === 'event' ? [frame.event.seq] : []))
  expect(reported).toEqual(types.map((_, index) => index + 1))

  const news = await fetch(`http://127.0.0.1:${served.port}/api/sessions/${session}/events`, {
    headers: { authorization: `Bearer ${testToken}`, accept: 'text/event-stream' },
  })
  let streamed = ''
  for await (const text of news.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    streamed += text
    if (streamed.includes(`\nid: ${types.length}\n`) || streamed.includes(`id: ${types.length}\n`)) break
  }
  for (const [, data = ''] of streamed.matchAll(/^data: (.*)\n\n/gm)) JSON.parse(data)

  for (const format of formats) {
    const text = await ask(served, `/${session}/export?as=${format}`)
    if (format === 'jsonl') for (const line of text.trimEnd().split('\n')) JSON.parse(line)
    if (types[seq - 1] !== 'text.written') expect(text).toContain('second turn')
  }
  await ask(served, `/${session}?tail=50`)
}

it('a damaged event of any type becomes a notice in its place, and every face reads the rest', async () => {
  for (const type of new Set(types)) {
    const seq = types.indexOf(type) + 1
    const at = `id % ${2 ** 32} = ${seq} AND id / ${2 ** 32} = 1`
    await withDamage(`UPDATE events SET body = ${damages['cut off']} WHERE ${at}`, (served) =>
      lookAtAll(served, seq),
    )
  }
})

it.each(Object.entries(damages))('a session with an event that is %s can continue', async (_, body) => {
  const seq = types.indexOf('text.written') + 1
  const at = `id % ${2 ** 32} = ${seq} AND id / ${2 ** 32} = 1`
  await withDamage(`UPDATE events SET body = ${body} WHERE ${at}`, async (served) => {
    await lookAtAll(served, seq)
    await playTurn(served)
    expect((await served.log(session)).at(-1)).toMatchObject({ type: 'turn.ended' })
  })
})

it('the damaged state of a session is rebuilt from its events', async () => {
  await withDamage(`UPDATE sessions SET state = '{"broken' WHERE id = '${session}'`, async (served) => {
    const { sessions } = JSON.parse(await ask(served, '')) as { sessions: { id: string; title: string }[] }
    expect(sessions.map(({ title }) => title).sort()).toEqual(['another', 'one'])
    await playTurn(served)
    expect((await served.log(session)).length).toBeGreaterThan(types.length)
  })
})
