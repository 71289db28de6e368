import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EventOf, type EventType, promptText } from '@parley/protocol'
import { createHost, createMemoryStore, type Host } from '@parley/server'
import { createParley, type ParleyOptions } from '@parley/server/language-model'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { repliedIn, sdks } from '../../packages/server/src/faces/language-model/model-under-test.ts'
import { AgentHome } from '../../packages/server/src/testing/agent-home.ts'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import type { ModelAnswer } from '../../packages/server/src/testing/model-server.ts'
import { adapterOf } from '../../packages/server/src/testing/real-agents.ts'

/**
 * Tests the language-model face between the real AI SDK, in both major versions, and the real Claude Code.
 */
const home = await AgentHome.forFile()
const { model: server } = home

async function claude(options: Partial<ParleyOptions> & { env?: Record<string, string | undefined> } = {}) {
  const { env = home.env('claude'), ...settings } = options
  const cwd = home.folder('work')
  const host = await createHost({ adapters: [adapterOf('claude', env)], store: createMemoryStore() })
  const parley = createParley({ host, cwd, ...settings })
  const before = server.calls.length
  return {
    host,
    cwd,
    model: parley('claude'),
    sessions: async () => (await host.list({ limit: 100 })).sessions.map(({ id }) => id).sort(),
    events: <Type extends EventType>(type: Type) => eventsOf(host, type),
    /** The calls of the model that have tools. Calls for titles and similar purposes have none. */
    modelCalls: () => server.calls.slice(before).filter(({ body }) => Array.isArray(body?.tools)),
    [Symbol.asyncDispose]: () => host.close(),
  }
}

async function eventsOf<Type extends EventType>(host: Host, type: Type): Promise<EventOf<Type>[]> {
  const { sessions } = await host.list({ limit: 100 })
  const ids = sessions.map(({ id }) => id).sort()
  const logs = await Promise.all(ids.map((id) => host.read(id, { after: 0, limit: 10_000 })))
  const events = logs.flatMap(({ events }) => events.map(({ json }) => JSON.parse(json)))
  return events.filter((event) => event.type === type)
}

const call = (name: string, input: unknown, id = 'toolu_a') => ({
  name,
  id,
  arguments: JSON.stringify(input),
})
const calls = (...toolCalls: ReturnType<typeof call>[]): ModelAnswer => ({ toolCalls })
const user = (content: string) => ({ role: 'user', content }) as const

describe.each(sdks)('%s on the real Claude Code', (_, sdk) => {
  it('returns text, reasoning and usage; two turns share one session, one process and one conversation', async () => {
    await using fixture = await claude()
    const asked = user(
      modelPrompt('Think of mint.', {
        reasoning: 'Let me see.',
        usage: { input_tokens: 120, output_tokens: 30 },
        content: 'One, two.',
      } as ModelAnswer),
    )
    const first = await sdk.generateText({ model: fixture.model, messages: [asked] })
    expect([first.text, first.reasoningText]).toEqual(['One, two.', 'Let me see.'])
    expect(first.finishReason).toBe('stop')
    expect(first.usage).toMatchObject({ inputTokens: 120, outputTokens: 30 })
    expect(first.response.modelId).toMatch(/claude/)
    expect(fixture.modelCalls()).toHaveLength(1)
    const next = user(modelPrompt('And now?', { say: 'history' }))
    const result = sdk.streamText({
      model: fixture.model,
      messages: [asked, ...first.response.messages, next],
    })
    expect(await result.text).toContain('Think of mint.')
    expect(await result.warnings).toEqual([])
    expect(await fixture.sessions()).toHaveLength(1)
    expect(await fixture.events('turn.started')).toHaveLength(2)
    expect(
      new Set((await fixture.events('agent.connected')).map(({ connectionId }) => connectionId)).size,
    ).toBe(1)
    expect(fixture.modelCalls()).toHaveLength(2)
    const prompts = (await fixture.events('prompt.submitted')).map(({ parts }) => promptText(parts))
    expect(prompts).toEqual([asked.content, next.content])
  })

  it("runs the agent's own tools only with permission, as parts that the caller need not run", async () => {
    const asked: string[] = []
    await using fixture = await claude({
      onPermission({ tool, input }) {
        asked.push(`${tool} ${(input as { command: string }).command}`)
        return asked.length === 1 ? 'allow' : 'deny'
      },
    })
    writeFileSync(join(fixture.cwd, 'note.txt'), 'of the sea')
    const run = (command: string, id: string) => calls(call('Bash', { command, description: 'x' }, id))
    const prompt = modelPrompt(
      'Do it.',
      run('printf "yes" > made.txt; cat note.txt', 'toolu_a'),
      run('rm note.txt', 'toolu_b'),
      { content: 'Done.' },
    )
    const result = sdk.streamText({ model: fixture.model, prompt })
    const types: string[] = []
    for await (const { type } of result.fullStream) if (types.at(-1) !== type) types.push(type)
    const tool = ['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call']
    const text = ['text-start', 'text-delta', 'text-end']
    const expected = [...tool, 'tool-result', ...tool, 'tool-error', ...text]
    expect(types).toEqual(['start', 'start-step', ...expected, 'finish-step', 'finish'])
    expect(asked).toEqual(['Bash printf "yes" > made.txt; cat note.txt', 'Bash rm note.txt'])
    expect(await result.toolResults).toMatchObject([
      {
        toolName: 'Bash',
        output: { content: [{ type: 'terminal', output: 'of the sea' }] },
        providerExecuted: true,
      },
    ])
    expect((await fixture.events('permission.resolved')).map(({ outcome }) => outcome)).toEqual([
      'allowed',
      'denied',
    ])
    expect(await result.text).toBe('Done.')
  })

  it("calls the caller's tools in several steps of one turn, and continues in the session", async () => {
    await using fixture = await claude()
    const looked: string[] = []
    const tools = {
      lookup: sdk.tool({
        description: 'Looks a word up.',
        inputSchema: z.object({ word: z.string() }),
        execute: async ({ word }: { word: string }) => {
          looked.push(word)
          return `${word} is a herb`
        },
      }),
    }
    const look = (word: string, id: string) => call('mcp__parley__lookup', { word }, id)
    const asked = user(
      modelPrompt(
        'Look them up.',
        calls(look('sage', 'toolu_a')),
        calls(look('thyme', 'toolu_b'), look('mint', 'toolu_c')),
        { say: 'history' },
      ),
    )
    const stopWhen = sdk.stepCountIs(9)
    const first = await sdk.generateText({ model: fixture.model, messages: [asked], tools, stopWhen })
    expect(looked.slice(0, 1)).toEqual(['sage'])
    expect(looked.slice(1).sort()).toEqual(['mint', 'thyme'])
    expect(first.finishReason).toBe('stop')
    const ended = await fixture.events('tool-call.ended')
    expect(ended.map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'completed'])
    expect(fixture.modelCalls()).toHaveLength(3)
    expect(JSON.stringify(fixture.modelCalls().at(-1)?.body)).toContain('mint is a herb')
    const more = user(modelPrompt('Once more.', calls(look('dill', 'toolu_d')), { content: 'Enough.' }))
    const messages = [asked, ...(await repliedIn(first)), more]
    const second = sdk.streamText({ model: fixture.model, messages, tools, stopWhen })
    expect(await second.text).toBe('Enough.')
    expect(looked.at(-1)).toBe('dill')
    expect(await fixture.sessions()).toHaveLength(1)
    expect(await fixture.events('turn.started')).toHaveLength(2)
  })

  it('steers a message after a result into the waiting turn', async () => {
    await using fixture = await claude()
    const tools = {
      lookup: sdk.tool({
        inputSchema: z.object({ word: z.string() }),
        execute: async ({ word }: { word: string }) => `${word} is a herb`,
      }),
    }
    const look = calls(call('mcp__parley__lookup', { word: 'sage' }))
    const asked = user(modelPrompt('Look it up.', look, { content: 'A herb.' }))
    const first = await sdk.generateText({ model: fixture.model, messages: [asked], tools })
    expect(first.finishReason).toBe('tool-calls')
    const messages = [asked, ...first.response.messages, user('And be quick.')]
    const second = await sdk.generateText({ model: fixture.model, messages, tools })
    expect(second.text).toContain('A herb.')
    expect(await fixture.sessions()).toHaveLength(1)
    expect(await fixture.events('turn.ended')).toMatchObject([{ outcome: 'completed' }])
    const request = JSON.stringify(fixture.modelCalls().at(-1)?.body)
    expect(request).toContain('sage is a herb')
    expect(request).toContain('And be quick.')
  })

  it('replays an edited history in a new session, and the model reads it', async () => {
    await using fixture = await claude()
    const asked = user('What is sage?')
    const first = await sdk.generateText({ model: fixture.model, system: 'Be brief.', messages: [asked] })
    const edited = { role: 'assistant', content: `It is a tree, not: ${first.text}` } as const
    const next = user(modelPrompt('And now?', { content: 'It grows.' }))
    const messages = [asked, edited, next]
    const second = await sdk.generateText({ model: fixture.model, system: 'Be brief.', messages })
    expect(second.text).toBe('It grows.')
    expect(second.warnings).toMatchObject([{ type: 'other' }])
    expect(await fixture.sessions()).toHaveLength(2)
    const request = JSON.stringify(fixture.modelCalls().at(-1)?.body)
    expect(request).toContain('It is a tree, not: ')
    expect(request).toContain('Be brief.')
    expect(JSON.stringify(fixture.modelCalls()[0]?.body?.system)).toContain('Be brief.')
  })

  it('generates an object that fits a schema', async () => {
    await using fixture = await claude()
    const prompt = modelPrompt('Count.', calls(call('StructuredOutput', { count: 3 })), {
      content: 'I counted.',
    })
    const schema = z.object({ count: z.number() })
    const { output } = await sdk.generateText({
      model: fixture.model,
      prompt,
      output: sdk.Output.object({ schema }),
    })
    expect(output).toEqual({ count: 3 })
  })

  it('stops when the caller aborts, fails when the model does, and reports a missing sign-in', async () => {
    await using fixture = await claude()
    const hold = server.hold(4)
    const aborting = new AbortController()
    const prompt = modelPrompt('Go on.', { content: 'One, two, three, four, five, six, seven, eight.' })
    const generating = sdk.generateText({ model: fixture.model, prompt, abortSignal: aborting.signal })
    const refused = expect(generating).rejects.toMatchObject({ name: 'AbortError' })
    await hold.reached
    aborting.abort()
    await refused
    const [id = ''] = await fixture.sessions()
    for await (const event of fixture.host.events(id)) if (event.type === 'turn.ended') break
    hold.release()
    expect(await fixture.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
    const error = {
      error: { message: 'It is 400.', type: 'invalid_request_error' },
      status: 400,
    } as ModelAnswer
    const failing = sdk.generateText({ model: fixture.model, prompt: modelPrompt('Fail.', error) })
    await expect(failing).rejects.toSatisfy(sdk.APICallError.isInstance)
    await using nobody = await claude({ env: { PATH: process.env.PATH, HOME: join(home.path, 'nobody') } })
    const unknown = sdk.generateText({ model: nobody.model, prompt: 'Hello' })
    await expect(unknown).rejects.toSatisfy(sdk.LoadAPIKeyError.isInstance)
  })
})

it('the face sends native messages only to callers that request them', async () => {
  await using fixture = await claude()
  for (const includeRawChunks of [true, false]) {
    const text = modelPrompt('Hello.', { content: 'Hello, you.' })
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
    const { stream } = await fixture.model.doStream({ prompt, includeRawChunks })
    const parts = await Array.fromAsync(stream)
    const native = parts.flatMap((part) =>
      part.type === 'raw' ? [(part.rawValue as { type: string }).type] : [],
    )
    expect(native.includes('assistant')).toBe(includeRawChunks)
    expect(native.length > 0).toBe(includeRawChunks)
    expect(parts.at(-1)?.type).toBe('finish')
  }
})

it("the real Codex calls the caller's tool in one turn, and continues in its session", async () => {
  const [, sdk] = sdks[1]
  const env = home.env('codex', { home: home.folder('codex') })
  const adapters = [adapterOf('codex', env)]
  const host = await createHost({ adapters, store: createMemoryStore() })
  try {
    const codex = createParley({ host, cwd: home.folder('work') })('codex')
    const tools = {
      lookup: sdk.tool({
        inputSchema: z.object({ word: z.string() }),
        execute: async ({ word }: { word: string }) => `${word} is a herb`,
      }),
    }
    const look = calls(call('mcp__parley/lookup', { word: 'sage' }))
    const asked = user(modelPrompt('Look it up.', look, { content: 'A herb.' }))
    const stopWhen = sdk.stepCountIs(5)
    const first = await sdk.generateText({ model: codex, messages: [asked], tools, stopWhen })
    expect(first.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect(first.text).toBe('A herb.')
    const next = user(modelPrompt('And now?', { say: 'history' }))
    const messages = [asked, ...(await repliedIn(first)), next]
    const second = await sdk.generateText({ model: codex, messages, tools, stopWhen })
    expect(second.text).toContain('sage is a herb')
    expect((await host.list({ limit: 10 })).sessions).toHaveLength(1)
  } finally {
    await host.close()
  }
})
