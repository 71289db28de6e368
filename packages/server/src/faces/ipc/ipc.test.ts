import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { MessageChannel, Worker } from 'node:worker_threads'
import { capabilities } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import {
  colour,
  type HostUnderTest,
  type HostUnderTestOptions,
  hostUnderTest,
  permission,
} from '../../core/host-under-test.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { randomScript } from '../../testing/random-script.ts'
import { type IncomingMessage, incomingMessagesOf } from '../../transcripts/incoming-messages.ts'
import type { TaskMessage } from './agent-calls.ts'
import type { AgentConfig } from './check-call.ts'
import { createIpcFace, type IpcFaceOptions } from './index.ts'
import type { PageMessage } from './page-messages.ts'
import { mainEnd, wireUnderTest } from './port-under-test.ts'
import { type AgentBridge, createPreload } from './preload.ts'

type Page = AgentBridge & {
  readonly received: TaskMessage[]
  readonly config: AgentConfig
  /** The first message that satisfies the condition, already received or yet to come. */
  until(holds: (message: PageMessage, session: string) => boolean, from?: number): Promise<PageMessage>
  /** Sends a script as a prompt and waits for the end of its turn. */
  play(taskId: string, ...script: object[]): Promise<void>
}

type Given = { options?: Partial<IpcFaceOptions>; host?: HostUnderTestOptions }

async function aPage({ options, host }: Given = {}): Promise<{ page: Page; world: HostUnderTest }> {
  const world = await hostUnderTest(host)
  const wire = wireUnderTest()
  const face = createIpcFace({ host: world.host, ...wire.main, ...options })
  onTestFinished(async () => {
    face.close()
    wire.close()
    await world[Symbol.asyncDispose]()
  })
  return { world, page: listening(createPreload(wire.page), world.cwd) }
}

function listening(bridge: AgentBridge, cwd: string): Page {
  const received: TaskMessage[] = []
  let wake = Promise.withResolvers<void>()
  bridge.onMessage((message) => {
    received.push(message)
    wake.resolve()
    wake = Promise.withResolvers()
  })
  const page: Page = {
    ...bridge,
    received,
    config: { type: 'scripted', payload: { cwd } },
    async until(holds, from = 0) {
      for (let at = from; ; at++) {
        while (at >= received.length) await wake.promise
        const { message, sessionId } = received[at]!
        if (holds(message, sessionId)) return message
      }
    },
    async play(taskId, ...script) {
      const from = received.length
      expect(await page.send(taskId, JSON.stringify(script))).toMatchObject({ success: true })
      await page.until(is('turn_ended'), from)
    },
  }
  return page
}

const is = (type: PageMessage['type']) => (message: PageMessage) => message.type === type
const typesOf = (page: Page, from = 0) => page.received.slice(from).map(({ message }) => message.type)
const textOf = (page: Page, from = 0) =>
  page.received
    .slice(from)
    .map(({ message }) => (message.type === 'agent_text' ? message.text : ''))
    .join('')

describe('a page in another thread', () => {
  it('loads only the preload, and gets a turn from its start to its end', async () => {
    await using world = await hostUnderTest()
    const { port1, port2 } = new MessageChannel()
    const face = createIpcFace({ host: world.host, ...mainEnd(port1) })
    const prompt = JSON.stringify([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'before' },
      permission('a.txt'),
      { type: 'text', text: 'after' },
    ])
    const worker = new Worker(new URL('./page-under-test.ts', import.meta.url), {
      workerData: { port: port2, cwd: world.cwd, prompt },
      transferList: [port2],
    })
    onTestFinished(() => void worker.terminate())
    const failed = once(worker, 'error').then(([error]) => Promise.reject(error))
    const done = new Promise<{ received: PageMessage[] }>((resolve) =>
      port1.on('message', (letter) => letter.type === 'done' && resolve(letter)),
    )
    const { received } = await Promise.race([done, failed])
    face.close()
    port1.close()
    const said = received.flatMap((message) => (message.type === 'agent_text' ? [message.text] : []))
    expect(said.join('')).toBe('beforeafter')
    expect(received.filter(is('tool_call_update')).at(-1)).toMatchObject({ status: 'completed' })
    expect(received.at(-1)).toMatchObject({ type: 'turn_ended', outcome: 'completed' })
    expect(world.runs('a.txt')).toBe(1)
  })
})

describe('agent:connect', () => {
  it('creates a session with the agent and returns its id', async () => {
    const { page, world } = await aPage()
    const answer = await page.connect('t', page.config)
    expect(answer).toEqual({ success: true, sessionId: expect.any(String) })
    const { sessionId } = answer as { sessionId: string }
    expect(await world.host.state(sessionId)).toMatchObject({ agent: 'scripted', cwd: world.cwd })
  })

  it('with reuseIfSame keeps a task that has the same config, even if a page connects twice at once', async () => {
    const { page, world } = await aPage()
    const reuse = { reuseIfSame: true }
    const [first, second] = await Promise.all([
      page.connect('t', page.config, reuse),
      page.connect('t', page.config, reuse),
    ])
    expect(second).toEqual(first)
    const { cwd } = page.config.payload
    const other = await page.connect('t', { type: 'scripted', payload: { cwd, mode: 'plan' } }, reuse)
    const again = await page.connect('t', { type: 'scripted', payload: { mode: 'plan', cwd } })
    const ids = new Set([first, other, again].map((one) => one.success && one.sessionId))
    expect(ids.size).toBe(3)
    expect((await world.host.list({ limit: 10 })).sessions).toHaveLength(3)
  })

  it('with createSession: false creates no session; the task can get one later', async () => {
    const { page, world } = await aPage()
    const none = { success: true, sessionId: null }
    expect(await page.connect('t', page.config, { createSession: false })).toEqual(none)
    expect(await page.send('t', 'hello')).toMatchObject({ success: false, code: 'conflict' })
    expect((await world.host.list({ limit: 10 })).sessions).toEqual([])
    expect(await page.newSession('t')).toMatchObject({ success: true })
    await page.play('t', { type: 'text', text: 'here' })
    expect(textOf(page)).toBe('here')
  })

  it('accepts the aliases that the program gave to agents', async () => {
    const { page } = await aPage({ options: { agents: { 'my-agent': 'scripted' } } })
    const { payload } = page.config
    expect(await page.connect('t', { type: 'my-agent', payload })).toMatchObject({ success: true })
    expect(await page.getStatus('t')).toMatchObject({ status: { agent: 'scripted' } })
    const unknown = await page.connect('u', { type: 'nobody', payload })
    expect(unknown).toMatchObject({ success: false, code: 'agent_not_found' })
  })
})

describe('agent:send and the message channel', () => {
  it('sends text, calls, retractions, usage and cost', async () => {
    const { page } = await aPage()
    await page.connect('t', page.config)
    await page.play(
      't',
      { type: 'thinking', text: 'let me see' },
      { type: 'text', text: 'one two three' },
      { type: 'tool', name: 'Bash', input: { command: 'ls' }, inputPieces: 3, output: ['a\n', 'b\n'] },
      { type: 'retraction', text: 'never mind' },
      { type: 'usage', context: { used: 1, window: 9 }, total: { input: 3, output: 4 }, costUsd: 0.5 },
      { type: 'end', result: 'done', usage: { input: 3, output: 4 } },
    )
    const messages = page.received.map(({ message }) => message)
    const received = (type: PageMessage['type']) => messages.filter(is(type))
    expect(received('tool_call')[0]).toMatchObject({ name: 'Bash', status: 'in_progress' })
    expect(received('tool_call_update').at(-1)).toMatchObject({ status: 'completed' })
    expect(received('retraction')).toHaveLength(1)
    expect(received('agent_info')).toContainEqual(
      expect.objectContaining({ tokenUsage: { input: 3, output: 4 } }),
    )
    expect(received('turn_ended')).toEqual([
      expect.objectContaining({ outcome: 'completed', result: 'done', stopReason: expect.any(String) }),
    ])
    await page.until((message) => message.type === 'activity' && message.activity === 'idle')
    expect(received('system').filter(({ type }) => type === 'system')).toHaveLength(1)
  })

  it('sends prompts of other clients, and its own only with echoPrompts', async () => {
    for (const echoPrompts of [false, true]) {
      const { page, world } = await aPage({ options: { echoPrompts } })
      const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
      await page.play('t', { type: 'text', text: 'mine' })
      await world.host.command(sessionId, { type: 'prompt.submit', commandId: 'x', text: 'from elsewhere' })
      await page.until((message) => message.type === 'user_text' && message.text === 'from elsewhere')
      expect(typesOf(page).filter((type) => type === 'user_text')).toHaveLength(echoPrompts ? 2 : 1)
    }
  })

  it('treats a prompt as its own only once, and only in the session that it was sent to', async () => {
    const { page, world } = await aPage()
    const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
    await page.play('t', { type: 'text', text: 'mine' })
    const { events } = await world.host.read(sessionId, { after: 0, limit: 100 })
    const { messageId } = events
      .map(({ json }) => JSON.parse(json))
      .find(({ type }) => type === 'prompt.submitted')
    const { sessionId: other } = (await page.newSession('t')) as { sessionId: string }
    const named = { type: 'prompt.submit', commandId: 'x', text: 'of the same name', messageId } as const
    const from = page.received.length
    await world.host.command(other, named)
    await page.until(is('turn_ended'), from)
    expect(page.received.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'user_text', text: 'of the same name', msg_id: messageId }),
    )
  })

  it('accepts images, and refuses them for an agent that does not accept them', async () => {
    const { page } = await aPage()
    await page.connect('t', page.config)
    const images = ['data:image/png;base64,aGk=', { data: 'aGk=', mimeType: 'image/gif', name: 'a.gif' }]
    expect(await page.send('t', '', images)).toMatchObject({ success: true })
    await page.until(is('turn_ended'))
    expect(textOf(page)).toContain('image/png')
    expect(textOf(page)).toContain('a.gif')
    expect(await page.send('t', 'x', ['no url'])).toMatchObject({ success: false, code: 'validation_error' })

    const blind = await aPage({ host: { agent: { capabilities: capabilities('streaming') } } })
    await blind.page.connect('t', blind.page.config)
    expect(await blind.page.send('t', 'look', images)).toMatchObject({
      success: false,
      code: 'not_supported',
    })
  })

  it('sends the same content as the transcript, for random output of an agent', async () => {
    const { page, world } = await aPage()
    await fc.assert(
      fc.asyncProperty(randomScript, async (script) => {
        const from = page.received.length
        const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
        const ended = page.until(is('turn_ended'), from)
        await page.send('t', JSON.stringify([...script, { type: 'end' }]))
        const answering = answerAll(page, from)
        if (script.some(({ type }) => type === 'hang')) await page.stop('t')
        await Promise.race([ended, answering])
        await page.stop('t')
        await ended
        const { seq } = await world.host.state(sessionId)
        const { events } = await world.host.read(sessionId, { limit: seq })
        const log = incomingMessagesOf(events.map(({ json }) => JSON.parse(json)))
        const live = page.received.slice(from).map(({ message }) => message)
        expect(folded(live)).toEqual(folded(log))
      }),
      { numRuns: Number(process.env.PARLEY_PROPERTY_RUNS ?? 25) },
    )
  })
})

/** Allows or answers every request until the turn ends. */
async function answerAll(page: Page, from: number): Promise<void> {
  for (let at = from; ; at++) {
    const message = await page.until(() => true, at)
    if (message.type === 'turn_ended') return
    if (message.type !== 'permission_request') continue
    await page.respondToPermission(
      't',
      message.id,
      message.questions ? { answers: { colour: 'red' } } : 'allow',
    )
  }
}

/** The content that a page shows after it has received these messages. */
function folded(messages: readonly (PageMessage | IncomingMessage)[]) {
  const texts = new Map<string, string>()
  const calls = new Map<string, object>()
  const rest: unknown[] = []
  for (const { at, ...message } of messages) {
    if (message.type === 'agent_text' || message.type === 'agent_thought') {
      const key = `${message.type} ${message.msg_id}`
      texts.set(key, (texts.get(key) ?? '') + message.text)
    } else if (message.type === 'tool_call') calls.set(message.toolCallId, message)
    else if (message.type === 'tool_call_update') {
      const { type, content, ...news } = message
      if (!calls.has(news.toolCallId)) continue
      const whole = { ...calls.get(news.toolCallId), ...news, ...(news.status && { content }) }
      calls.set(news.toolCallId, whole)
    } else if (message.type === 'permission_request' || message.type === 'agent_info') rest.push(message)
    else if (message.type === 'system' && !message.text.startsWith('Session init')) rest.push(message)
  }
  return { texts: Object.fromEntries(texts), calls: Object.fromEntries(calls), rest }
}

describe('agent:permission-response', () => {
  it('accepts an option of the request or a plain decision, and every page receives the outcome', async () => {
    const { page, world } = await aPage()
    await page.connect('t', page.config)
    const turn = page.play('t', permission('a.txt'), permission('b.txt'), permission('c.txt'))
    const ask = async (n: number) => {
      const nth = () => page.received.filter(({ message }) => message.type === 'permission_request')[n]
      await page.until(() => nth() !== undefined)
      return nth()?.message as Extract<PageMessage, { type: 'permission_request' }>
    }
    const first = await ask(0)
    expect(first).toMatchObject({ tool: 'Write', content: expect.any(String), rawInput: { path: 'a.txt' } })
    const allowed = await page.respondToPermission('t', first.id, first.options[0] as { label: string })
    expect(allowed).toEqual({ success: true })
    const refusal = { decision: 'deny', message: 'no' } as const
    expect(await page.respondToPermission('t', (await ask(1)).id, refusal)).toEqual({ success: true })
    expect(await page.respondToPermission('t', (await ask(2)).id, 'deny')).toEqual({ success: true })
    await turn
    expect(['a.txt', 'b.txt', 'c.txt'].map((path) => world.runs(path))).toEqual([1, 0, 0])
    expect(page.received.filter(({ message }) => is('permission_resolved')(message))).toHaveLength(3)
    expect(await page.respondToPermission('t', first.id, 'deny')).toMatchObject({
      success: false,
      code: 'conflict',
    })
    expect(await page.respondToPermission('t', 'req_x', 'allow')).toMatchObject({
      success: false,
      code: 'not_found',
    })
  })

  it('answers questions by the label of an option or by question id', async () => {
    const { page } = await aPage()
    await page.connect('t', page.config)
    const turn = page.play('t', colour, colour)
    const first = await page.until(is('permission_request'))
    if (first.type !== 'permission_request') throw new Error('not a request')
    expect(first).toMatchObject({ tool: 'question', content: 'Which colour?' })
    expect(await page.respondToPermission('t', first.id, 'green')).toMatchObject({ code: 'validation_error' })
    expect(await page.respondToPermission('t', first.id, { label: 'blue' })).toEqual({ success: true })
    const second = await page.until((one) => one.type === 'permission_request' && one.id !== first.id)
    if (second.type !== 'permission_request') throw new Error('not a request')
    const answers = { answers: { colour: 'red' } }
    expect(await page.respondToPermission('t', second.id, answers)).toEqual({ success: true })
    await turn
    expect(textOf(page)).toMatch(/blue.*red/s)
  })
})

describe('agent:stop', () => {
  it('cancels the running turn, and succeeds if there is none', async () => {
    const { page } = await aPage()
    await page.connect('t', page.config)
    expect(await page.stop('t')).toEqual({ success: true })
    const turn = page.play('t', { type: 'hang' })
    await page.until((message) => message.type === 'activity' && message.activity === 'active')
    expect(await page.stop('t')).toEqual({ success: true })
    await turn
    expect(await page.until(is('turn_ended'))).toMatchObject({ outcome: 'cancelled' })
  })

  it('pauses the queue until the page resumes it', async () => {
    const { page } = await aPage()
    await page.connect('t', page.config)
    const turn = page.play('t', { type: 'hang' })
    await page.until((message) => message.type === 'activity' && message.activity === 'active')
    await page.send('t', 'later')
    await page.stop('t')
    await turn
    expect(await page.getStatus('t')).toMatchObject({ status: { activity: 'idle', paused: 1 } })
    const from = page.received.length
    expect(await page.resumeQueue('t')).toEqual({ success: true })
    await page.until(is('turn_ended'), from)
    expect(textOf(page, from)).toBe('later')
    expect(await page.getStatus('t')).toMatchObject({ status: { paused: 0 } })
  })
})

describe('sessions of a task', () => {
  it('are loaded with all messages, including prompts', async () => {
    const { page, world } = await aPage()
    const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
    await page.play('t', { type: 'text', text: 'first' })
    const from = page.received.length
    expect(await page.loadSession('t', sessionId)).toEqual({ success: true, sessionId })
    await page.until(is('turn_ended'), from)
    expect(typesOf(page, from)).toContain('user_text')
    expect(textOf(page, from)).toBe('first')
    const other = await world.create()
    expect(await page.loadSession('u', other.id)).toMatchObject({ success: false, code: 'conflict' })
    expect(await page.loadSession('t', 'ses_none')).toMatchObject({ success: false, code: 'not_found' })
    expect(await page.getStatus('t')).toMatchObject({ status: { sessionId } })
  })

  it('are resumed with open requests and new messages, without past ones', async () => {
    const { page, world } = await aPage()
    const session = await world.create()
    await session.play({ type: 'text', text: 'long ago' })
    await session.submit(permission('a.txt'), { type: 'text', text: 'now' })
    await session.when(({ requests }) => requests.length === 1)
    await page.connect('t', page.config, { createSession: false })
    expect(await page.resumeSession('t', session.id)).toEqual({ success: true, sessionId: session.id })
    const asked = await page.until(is('permission_request'))
    if (asked.type !== 'permission_request') throw new Error('not a request')
    expect(await page.respondToPermission('t', asked.id, 'allow')).toEqual({ success: true })
    await page.until(is('turn_ended'))
    expect(textOf(page)).toBe('now')
  })

  it('are switched: only the active one sends messages, and it catches up', async () => {
    const { page, world } = await aPage()
    const { sessionId: first } = (await page.connect('t', page.config)) as { sessionId: string }
    await page.play('t', { type: 'text', text: 'one ' })
    const { sessionId: second } = (await page.newSession('t')) as { sessionId: string }
    expect(second).not.toBe(first)
    const from = page.received.length
    await world.host.command(first, { type: 'prompt.submit', commandId: 'x', text: 'missed' })
    await page.play('t', { type: 'text', text: 'two ' })
    expect(new Set(page.received.slice(from).map(({ sessionId }) => sessionId))).toEqual(new Set([second]))
    const back = page.received.length
    expect(await page.setActiveSession('t', first)).toEqual({ success: true, sessionId: first })
    await page.until((message, session) => session === first && message.type === 'turn_ended', back)
    expect(textOf(page, back)).toBe('missed')
    const unknown = await page.setActiveSession('t', 'ses_none')
    expect(unknown).toMatchObject({ success: false, code: 'not_found' })
    expect(await page.getStatus('t')).toMatchObject({
      status: { sessions: [first, second], sessionId: first },
    })
  })

  it('are reported when they are deleted', async () => {
    const { page, world } = await aPage()
    const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
    await world.host.delete(sessionId)
    await page.until((message) => message.type === 'system' && message.text.includes('deleted'))
    expect(await page.send('t', 'hello?')).toMatchObject({ success: false, code: 'conflict' })
  })
})

describe('capabilities, models and status', () => {
  it('describe the agent', async () => {
    const { page } = await aPage()
    await page.connect('t', page.config)
    const answer = await page.getCapabilities('t')
    expect(answer).toMatchObject({ success: true, agent: 'scripted', capabilities: { streaming: true } })
    expect(answer).toMatchObject({ models: [{ id: 'scripted-large' }, { id: 'scripted-small' }] })
    expect(await page.setModel('t', 'scripted-small')).toEqual({ success: true })
  })

  it('belong to the agent of the active session', async () => {
    const models = [{ id: 'tiny', name: 'Tiny' }]
    const other = createScriptedAdapter({ id: 'other', name: 'Other', models })
    const adapters = [createScriptedAdapter(), other]
    const host = await createHost({ adapters, store: createMemoryStore() })
    const wire = wireUnderTest()
    const face = createIpcFace({ host, ...wire.main })
    onTestFinished(async () => {
      face.close()
      wire.close()
      await host.close()
    })
    const page = createPreload(wire.page)
    const cwd = tmpdir()
    await page.connect('t', { type: 'scripted', payload: { cwd } })
    const { id } = await host.create({ agent: 'other', cwd })
    expect(await page.loadSession('t', id)).toMatchObject({ success: true })
    expect(await page.getCapabilities('t')).toMatchObject({ agent: 'other', name: 'Other', models })
    expect(await page.getStatus('t')).toMatchObject({ status: { agent: 'other', sessionId: id } })
    expect(await page.newSession('t')).toMatchObject({ success: true })
    expect(await page.getStatus('t')).toMatchObject({ status: { agent: 'scripted' } })
  })

  it('refuse a setting that the agent does not support', async () => {
    const { page } = await aPage({ host: { agent: { capabilities: capabilities('streaming') } } })
    await page.connect('t', page.config)
    const refused = {
      success: false,
      code: 'not_supported',
      error: expect.stringContaining('does not support choosing a model'),
    }
    expect(await page.setModel('t', 'big')).toEqual(refused)
  })

  it("report the task's agent, session, activity and last error", async () => {
    const { page } = await aPage()
    const nobody = { connected: false, agent: null, sessionId: null, lastError: null, activity: 'idle' }
    expect(await page.getStatus('t')).toMatchObject({ success: true, status: nobody })
    const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
    const turn = page.play('t', permission('a.txt'))
    await page.until(is('permission_request'))
    const asking = { connected: true, agent: 'scripted', sessionId, activity: 'asking', lastError: null }
    expect(await page.getStatus('t')).toMatchObject({ status: asking })
    await page.stop('t')
    await turn
    const error = { code: 'agent_failed', message: 'It broke.' }
    await page.play('t', { type: 'end', outcome: 'failed', error })
    expect(await page.getStatus('t')).toMatchObject({ status: { lastError: 'It broke.', activity: 'idle' } })
  })

  it('end with disconnect: the session is kept, the agent is shut down, no more messages are sent', async () => {
    const { page, world } = await aPage()
    const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
    await page.play('t', { type: 'text', text: 'bye' })
    expect(await page.disconnect('t')).toEqual({ success: true })
    const from = page.received.length
    expect(await page.getStatus('t')).toMatchObject({ status: { connected: false } })
    await world.host.command(sessionId, { type: 'prompt.submit', commandId: 'x', text: 'still there' })
    for await (const event of world.host.events(sessionId)) {
      if (event.type === 'turn.ended' && (await world.host.state(sessionId)).turns === 2) break
    }
    const log = await world.host.read(sessionId, { limit: 100 })
    expect(log.events.some(({ json }) => json.includes('"agent.disconnected"'))).toBe(true)
    expect(await page.send('t', 'x')).toMatchObject({ success: false, code: 'conflict' })
    expect(page.received.length).toBe(from)
  })
})

describe('an invalid call', () => {
  it.each<[string, (page: Page) => Promise<unknown>, string]>([
    ['no config', (page) => page.connect('t', undefined as never), 'validation_error'],
    [
      'no folder',
      (page) => page.connect('t', { type: 'scripted', payload: {} as never }),
      'validation_error',
    ],
    ['an API key', (page) => page.connect('t', withField(page, { apiKey: 'k' })), 'not_supported'],
    ['a command', (page) => page.connect('t', withField(page, { command: 'x' })), 'not_supported'],
    ['an unknown field', (page) => page.connect('t', withField(page, { colour: 'red' })), 'validation_error'],
    [
      'a folder that does not exist',
      (page) => page.connect('t', withField(page, { cwd: '/nowhere' })),
      'validation_error',
    ],
    ['a task id that is a number', (page) => page.send(7 as never, 'x'), 'validation_error'],
    ['no text', (page) => page.send('t', undefined as never), 'validation_error'],
    ['a task that is not connected', (page) => page.setModel('t', 'm'), 'conflict'],
  ])('with %s is answered with an error and does not reject', async (_, call, code) => {
    const { page } = await aPage()
    expect(await call(page)).toEqual({ success: false, error: expect.any(String), code })
  })

  it('from a page that is not accepted is refused', async () => {
    const { page } = await aPage({ options: { accepts: () => false } })
    expect(await page.connect('t', page.config)).toMatchObject({ success: false, code: 'forbidden' })
  })

  it('of a closed window is reported, and the session continues', async () => {
    const problems: string[] = []
    const { page, world } = await aPage({
      options: {
        send: () => {
          throw new Error('Object has been destroyed')
        },
        problem: ({ doing }) => problems.push(doing),
      },
    })
    const { sessionId } = (await page.connect('t', page.config)) as { sessionId: string }
    await page.send('t', 'hello')
    for await (const event of world.host.events(sessionId)) if (event.type === 'turn.ended') break
    await expect.poll(() => new Set(problems)).toEqual(new Set(['notify the page']))
  })
})

function withField(page: Page, more: object): AgentConfig {
  return { type: 'scripted', payload: { ...page.config.payload, ...more } }
}
