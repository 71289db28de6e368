import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentOutput } from '@parley/adapter-kit'
import { replaying } from '@parley/adapter-kit/testing'
import { createClient, type FeedItem } from '@parley/client'
import type { Delta, SessionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HostUnderTestOptions } from '../core/host-under-test.ts'
import { randomScript } from '../testing/random-script.ts'
import type { Sdk } from '../transcripts/ai-sdk-under-test.ts'
import type { IncomingMessage } from '../transcripts/incoming-messages.ts'
import { everything } from './acp/editor-under-test.ts'
import { join as joinEditor } from './acp/face-under-test.ts'
import { type ChatUnderTest, chatUnderTest, type Page } from './chat/chat-under-test.ts'
import { serverUnderTest, testToken } from './http/server-under-test.ts'
import { createIpcFace } from './ipc/index.ts'
import { wireUnderTest } from './ipc/port-under-test.ts'
import { createPreload } from './ipc/preload.ts'
import {
  inOne,
  type Reported,
  reportOfEvents,
  reportOfIncoming,
  reportOfMessages,
  reportOfRuns,
  reportOfUpdates,
  streamedTexts,
} from './reported-under-test.ts'
import { createWebSocketFace } from './websocket/index.ts'

/** Every face follows the same session live and also reads it afterwards. All must report the same content. */

type Recorded = {
  readonly fixtureNames: readonly string[]
  translateFixture(name: string): AgentOutput[][]
}
const adapters = join(import.meta.dirname, '../adapters')
const connected: AgentOutput[] = [{ type: 'agent.connected', agentSessionId: 'replayed' }]

/** The recordings of every adapter that has recordings. The recordings of ACP start before the first prompt. */
const recordings = await Promise.all(
  readdirSync(adapters).map(async (agent) => {
    const file = join(adapters, agent, 'fixtures-under-test.ts')
    if (!existsSync(file)) return []
    const { fixtureNames, translateFixture }: Recorded = await import(file)
    const parts = (name: string) =>
      agent === 'acp' ? translateFixture(name) : [connected, ...translateFixture(name)]
    return fixtureNames.map((name) => [agent, name, parts(name)] as const)
  }),
)

/** One reader per face, all following the session live. */
async function listeners(chat: ChatUnderTest, sessionId: string) {
  const { under, server: chatServer } = chat
  const gone = new AbortController()
  const websocket = createWebSocketFace({ host: under.host, logger: pino({ level: 'silent' }), version: '1' })
  const server = await serverUnderTest(under.host, {
    websocket: (upgrade) => websocket.accept(upgrade),
  })
  const client = createClient({ url: server.url, token: testToken })
  const socket = listenTo(client.feed(sessionId, { after: 0, signal: gone.signal }))
  const library = listenTo(
    under.host.feed(sessionId, { after: 0, signal: gone.signal }) as AsyncIterable<FeedItem>,
  )
  const followed = await chatServer.follow(sessionId)
  const wire = wireUnderTest()
  const face = createIpcFace({ host: under.host, ...wire.main })
  const desktop = createPreload(wire.page)
  const messages: IncomingMessage[] = []
  desktop.onMessage(({ message }) => void messages.push(message as IncomingMessage))
  await desktop.connect('task', { type: 'scripted', payload: { cwd: under.cwd } }, { createSession: false })
  await desktop.loadSession('task', sessionId)
  const { editor } = joinEditor(under)
  await editor.introduce(everything)
  await editor.agent.request('session/load', { sessionId, cwd: under.cwd, mcpServers: [] })
  onTestFinished(async () => {
    gone.abort()
    client.close()
    followed.leave()
    face.close()
    wire.close()
    websocket.close()
    await server.close()
  })
  const sse = {
    get events() {
      return followed.frames
        .filter(({ event }) => event === 'message')
        .map(({ data }) => data as SessionEvent)
    },
    get deltas() {
      return followed.frames
        .filter(({ event }) => event === 'delta')
        .map(({ data }) => data as unknown as Delta)
    },
  }
  return { feeds: { socket, library, sse }, messages, editor }
}

type Received = { readonly events: SessionEvent[]; readonly deltas: Delta[] }

function listenTo(feed: AsyncIterable<FeedItem>): Received {
  const received: Received = { events: [], deltas: [] }
  const listen = async () => {
    for await (const item of feed) {
      if (item.type === 'event') received.events.push(item.event as SessionEvent)
      if (item.type === 'delta') received.deltas.push(item.delta)
    }
  }
  void listen().catch(() => undefined)
  return received
}

const endOf = (page: Page) =>
  (page.chat.messages.at(-1)?.metadata as { outcome?: string } | undefined)?.outcome
const rests = ({ chat }: Page) => chat.status === 'ready' || chat.status === 'error'

/** Sends each prompt from a page, then compares the report of each face with the log. Returns the deltas. */
async function playAndCompare(
  sdk: Sdk,
  hosting: Omit<HostUnderTestOptions, 'limits'>,
  prompts: readonly string[],
): Promise<readonly Delta[]> {
  await using chat = await chatUnderTest(hosting)
  const session = await chat.under.create({ mode: 'bypass' })
  const { feeds, messages, editor } = await listeners(chat, session.id)
  const page = chat.page(sdk, { id: session.id })
  for (const prompt of prompts) {
    await page.say(prompt)
    await session.idle()
    await page.when('at the end of its turn', (one) => rests(one) && endOf(one) !== undefined)
  }
  const log = await session.log()
  const reported = reportOfEvents(log)
  const isTakenBack = log.some(({ type }) => type === 'block.retracted')
  const expected = isTakenBack ? amongOthers(reported) : reported

  for (const [name, received] of Object.entries(feeds)) {
    await expect.poll(() => received.events, { message: name }).toEqual(log)
    compareStreamed(name, log, received.deltas)
  }
  // A stock page streams only the turns of its own prompts. Own turns of the agent appear when the page loads the
  // messages.
  const ownTurns = log.filter((event) => event.type === 'turn.started' && event.promptId === undefined)
  if (ownTurns.length === 0)
    expect(reportOfMessages(page.messages), `chat of version ${sdk}`).toEqual(expected)
  expect(reportOfMessages(await chat.messages(session.id)), 'messages').toEqual(expected)
  await expect.poll(() => reportOfIncoming(messages), { message: 'desktop' }).toEqual(reported)
  const live = () => reportOfUpdates(editor.received.map(({ update }) => update))
  await expect.poll(live, { message: 'editor' }).toEqual(isTakenBack ? containing(reported) : inOne(reported))
  await compareExports(chat, session.id, reported, isTakenBack)
  const ended = log.filter(({ type }) => type === 'turn.ended')
  expect(ended).toHaveLength(prompts.length + ownTurns.length)
  return feeds.library.deltas
}

/** Expects that the deltas of each block add up to the written text, unless the block was retracted. */
function compareStreamed(name: string, log: readonly SessionEvent[], deltas: readonly Delta[]): void {
  const gone = new Set(log.flatMap((event) => (event.type === 'block.retracted' ? [event.blockId] : [])))
  const written = new Map(
    log.flatMap((event) =>
      event.type === 'text.written' || event.type === 'thinking.written' ? [[event.blockId, event.text]] : [],
    ),
  )
  for (const [blockId, text] of streamedTexts(deltas)) {
    if (!gone.has(blockId)) expect(text, `${name}, streamed`).toBe(written.get(blockId))
  }
}

/** Matches a report with these blocks and possibly more, because a page and an editor also keep retracted blocks. */
function amongOthers({ said, thought, calls }: Reported): Reported {
  return {
    said: expect.arrayContaining([...said]),
    thought: expect.arrayContaining([...thought]),
    calls: expect.objectContaining(calls),
  }
}

function containing({ said, thought, calls }: Reported): Reported {
  const holding = (texts: readonly string[]) => [
    expect.toSatisfy((text: string) => texts.every((one) => text.includes(one))),
  ]
  return { said: holding(said), thought: holding(thought), calls: expect.objectContaining(calls) }
}

async function compareExports(
  chat: ChatUnderTest,
  id: string,
  reported: Reported,
  isTakenBack: boolean,
): Promise<void> {
  const read = async (as: string) => {
    const { text } = await chat.server.ask(`/api/sessions/${id}/export?as=${as}`)
    return text.startsWith('[')
      ? JSON.parse(text)
      : text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
  }
  expect(reportOfMessages(await read('ui-messages')), 'UI messages').toEqual(
    isTakenBack ? amongOthers(reported) : reported,
  )
  expect(reportOfIncoming(await read('incoming-messages')), 'incoming messages').toEqual(reported)
  expect(reportOfRuns(await read('run-events')), 'run events').toEqual(reported)
  const { editor } = joinEditor(chat.under)
  await editor.introduce(everything)
  await editor.agent.request('session/load', { sessionId: id, cwd: chat.under.cwd, mcpServers: [] })
  const loaded = reportOfUpdates(editor.received.map(({ update }) => update))
  expect(loaded, 'loaded by an editor').toEqual(isTakenBack ? containing(reported) : inOne(reported))
}

describe.each([6, 7] as const)('with a page of version %i', (sdk) => {
  it.each(recordings.flat())(
    'every face reports the recorded output of %s: %s',
    async (_agent, name, [first = [], ...turns]) => {
      const adapter: HostUnderTestOptions['adapter'] = (scripted) => replaying(scripted, turns, first)
      const prompts = turns.map((_, index) => `${name} ${index}`)
      const deltas = await playAndCompare(sdk, { adapter }, prompts)
      const streams = turns.flat().some(({ type }) => type === 'text.streamed')
      expect(deltas.some(({ type }) => type === 'text.streamed')).toBe(streams)
    },
  )
})

const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 20)
/** Random scripts without steps that wait for an answer or a stop. */
const script = randomScript.map((steps) =>
  steps.filter((step) => !/"type":"(hang|question)"/.test(JSON.stringify(step))),
)

it.each([6, 7] as const)(
  'every face reports random output of an agent, with a page of version %i',
  async (sdk) => {
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 3 }), async (scripts) => {
        await playAndCompare(
          sdk,
          {},
          scripts.map((steps) => JSON.stringify(steps)),
        )
      }),
      { numRuns: runs },
    )
    expect.hasAssertions()
  },
)
