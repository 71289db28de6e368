import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenRequest, SessionEvent, SessionState } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { bash, ClaudeFixture, call, done, type SessionFixture, scriptPlan } from './claude-fixture.ts'

/**
 * Tests requests of Claude Code over HTTP and WebSocket, and the effect of the answers on the real program.
 */
let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start({ script: (model) => scriptPlan(model, 'First this, then that.', 2) })
})
afterAll(() => claude?.[Symbol.asyncDispose]())

const history = { say: 'history' } as const
const file = ({ folder }: SessionFixture, name: string) => join(folder, name)

describe('over plain HTTP and server-sent events', () => {
  it('the agent asks a question, and the answer reaches the model', async () => {
    const question = {
      question: 'Which colour?',
      header: 'Colour',
      multiSelect: false,
      options: [
        { label: 'red', description: 'warm' },
        { label: 'blue', description: 'cold' },
      ],
    }
    const prompt = modelPrompt('Ask.', call('AskUserQuestion', { questions: [question] }), done)
    const { id } = await post<SessionState>('/api/sessions', {
      agent: 'claude',
      cwd: claude.folder(),
      prompt,
    })
    for await (const event of eventStream(id)) {
      if (event.type === 'question.asked') {
        expect(event.questions).toMatchObject([{ header: 'Colour', text: 'Which colour?', multiple: false }])
        const answers = { [event.questions[0]!.id]: 'blue' }
        const { requestId } = event
        await post(`/api/sessions/${id}/commands`, {
          type: 'question.answer',
          commandId: 'cmd_colour',
          requestId,
          answers,
        })
      }
      if (event.type === 'turn.ended') {
        expect(event.outcome).toBe('completed')
        break
      }
    }
    expect(toolResult()).toContain(String.raw`\"Which colour?\"=\"blue\"`)
  })

  it('the agent asks for permission and streams its answer', async () => {
    const cwd = claude.folder()
    const prompt = modelPrompt('Write.', bash('printf x > a'), { content: 'One, two, three, four, five.' })
    const { id } = await post<SessionState>('/api/sessions', { agent: 'claude', cwd, prompt })
    const received: string[] = []
    for await (const event of eventStream(id, (delta) => received.push(delta.text ?? ''))) {
      if (event.type === 'permission.requested') {
        expect(existsSync(join(cwd, 'a'))).toBe(false)
        const { requestId } = event
        const decision = { type: 'permission.decide', commandId: 'cmd_write', requestId, decision: 'allow' }
        await post(`/api/sessions/${id}/commands`, decision)
      }
      if (event.type === 'turn.ended') break
    }
    expect(received.join('')).toContain('One, two, three, four, five.')
    expect(existsSync(join(cwd, 'a'))).toBe(true)
  })
})

describe('a plan', () => {
  const plan = call('ExitPlanMode', {})

  it('that is approved sets the granted mode, and the work starts', async () => {
    const session = await claude.session({ mode: 'plan' })
    await session.prompt(modelPrompt('Plan it.', done, plan, bash('printf x > a'), done))
    const asked = await session.request('permission')
    expect(asked).toMatchObject({ tool: 'ExitPlanMode', kind: 'plan' })
    expect(JSON.stringify(asked.input)).toContain('First this, then that.')
    await session.decide('allow')
    const { effective } = await session.when(({ effective }) => effective.mode !== 'plan')
    expect(effective.mode).toBe('ask')
    expect(await session.request('permission')).toMatchObject({ tool: 'Bash' })
    expect(existsSync(file(session, 'a'))).toBe(false)
    await session.decide('allow')
    expect((await session.ended()).end.outcome).toBe('completed')
    expect(existsSync(file(session, 'a'))).toBe(true)
  })

  it('that is denied with a message: the model receives the message, and the mode does not change', async () => {
    const session = await claude.session({ mode: 'plan' })
    await session.prompt(modelPrompt('Plan it.', done, plan, done))
    await session.decide('deny', { message: 'Begin with that, not with this.' })
    const log = await session.ended()
    expect(log.end.outcome).toBe('completed')
    expect(log.ofTurn('tool-call.ended').at(-1)).toMatchObject({ outcome: 'denied' })
    expect(toolResult()).toContain('Begin with that, not with this.')
    expect((await session.when(() => true)).effective.mode).toBe('plan')
  })
})

describe('a subagent', () => {
  const delegate = (words: string) =>
    call('Agent', {
      description: 'look',
      subagent_type: 'general-purpose',
      run_in_background: false,
      prompt: words,
    })

  it.each(['allow', 'deny'] as const)(
    'asks for its own call, in the inbox of its session: %s',
    async (decision) => {
      const session = await claude.sharedSession()
      const inside = modelPrompt('Write it down.', bash('printf x > a'), { content: 'I have tried.' })
      await session.prompt(modelPrompt('Delegate.', delegate(inside), done))
      const asked = await session.request('permission')
      const { blocks } = await get<{ blocks: { type: string; id: string; name?: string }[] }>(
        `/api/sessions/${session.id}`,
      )
      const parent = blocks.findLast(({ name }) => name === 'Agent')
      expect(parent).toBeDefined()
      expect(asked).toMatchObject({ tool: 'Bash', parentToolCallId: parent?.id })
      const { requests } = await get<{ requests: { session: { id: string }; request: OpenRequest }[] }>(
        '/api/permissions',
      )
      expect(requests).toMatchObject([
        {
          session: { id: session.id },
          request: { requestId: asked.requestId, parentToolCallId: parent?.id },
        },
      ])
      await session.decide(decision)
      const log = await session.ended()
      expect(log.end.outcome).toBe('completed')
      expect(existsSync(file(session, 'a'))).toBe(decision === 'allow')
      expect(log.ofTurn('tool-call.ended').map(({ outcome }) => outcome)).toEqual([
        decision === 'allow' ? 'completed' : 'denied',
        'completed',
      ])
      expect(log.said).toBe('That is done.')
    },
  )
})

describe('a permission', () => {
  it('with a changed input runs only that input', async () => {
    const session = await claude.sharedSession()
    await session.prompt(modelPrompt('Write.', bash('printf a > a'), done))
    await session.decide('allow', { input: { command: 'printf b > b', description: 'a command' } })
    expect((await session.ended()).end.outcome).toBe('completed')
    expect(existsSync(file(session, 'a'))).toBe(false)
    expect(readFileSync(file(session, 'b'), 'utf8')).toBe('b')
  })

  it('that is denied and ends the turn: the model is not called again, and the process stays', async () => {
    const session = await claude.sharedSession()
    await session.prompt(modelPrompt('Write.', bash('printf a > a'), done))
    await session.request('permission')
    const before = claude.model.calls.length
    await session.decide('deny', { endTurn: true, message: 'Stop here.' })
    const log = await session.ended()
    expect(log.end).toMatchObject({ outcome: 'cancelled' })
    expect(log.ofTurn('tool-call.ended')).toMatchObject([{ outcome: 'denied' }])
    expect(claude.model.calls.length).toBe(before)
    expect(existsSync(file(session, 'a'))).toBe(false)
    const next = await session.completes(modelPrompt('And now?', history))
    expect(next.connections).toEqual(log.connections)
  })

  it('for a file shows the change', async () => {
    const session = await claude.sharedSession()
    const path = file(session, 'note.txt')
    await session.prompt(
      modelPrompt('Write.', call('Write', { file_path: path, content: 'parsley\n' }), done),
    )
    const asked = await session.request('permission')
    expect(asked).toMatchObject({ tool: 'Write', kind: 'edit', input: { content: 'parsley\n' } })
    await session.decide('allow')
    const log = await session.ended()
    expect(readFileSync(path, 'utf8')).toBe('parsley\n')
    expect(log.ofTurn('tool-call.ended')).toMatchObject([
      { outcome: 'completed', content: [{ type: 'diff', path, before: null, after: 'parsley\n' }] },
    ])
  })
})

const toolResult = () => JSON.stringify(claude.modelSaw('tool_result'))

async function get<Reply>(path: string): Promise<Reply> {
  const response = await fetch(claude.server.url + path, { headers: authorization() })
  expect(response.status).toBe(200)
  return (await response.json()) as Reply
}

async function post<Reply>(path: string, body: unknown): Promise<Reply> {
  const response = await fetch(claude.server.url + path, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const reply = await response.json()
  expect({ status: response.status, reply }).toMatchObject({ status: path.endsWith('/commands') ? 202 : 201 })
  return reply as Reply
}

function authorization() {
  return { authorization: `Bearer ${claude.server.token}` }
}

/** The session's events as they arrive, without deltas. */
async function* eventStream(
  id: string,
  onDelta: (delta: { type: string; text?: string }) => void = () => undefined,
): AsyncGenerator<SessionEvent> {
  const response = await fetch(`${claude.server.url}/api/sessions/${id}/events`, {
    headers: { ...authorization(), accept: 'text/event-stream' },
  })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const frames = (text + chunk).split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const [, name = 'message'] = /^event: (.*)$/m.exec(frame) ?? []
      const [, data = 'null'] = /^data: (.*)$/m.exec(frame) ?? []
      if (name === 'delta') onDelta(JSON.parse(data))
      if (name === 'message') yield JSON.parse(data) as SessionEvent
    }
  }
}
