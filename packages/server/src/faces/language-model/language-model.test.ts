import { capabilities, ParleyError } from '@parley/protocol'
import type { LanguageModel as LanguageModel6 } from 'ai6'
import type { LanguageModel as LanguageModel7 } from 'ai7'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { ai7 } from '../../transcripts/ai-sdk-modules-under-test.ts'
import { createParley } from './index.ts'
import { modelUnderTest, prompted, sdks } from './model-under-test.ts'

const usage = { input: 3, output: 5, cacheRead: 10, reasoning: 2 }
const hello = prompted(
  { type: 'thinking', text: 'They greet me.' },
  { type: 'text', text: 'Hello, you.' },
  { type: 'end', usage, costUsd: 0.25 },
)
const say = (text: string) => prompted({ type: 'text', text })
const askedBy = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
const running = { type: 'permission', name: 'Bash', kind: 'execute', input: { command: 'ls' } } as const

it('the model fits the types of both major versions', async () => {
  await using face = await modelUnderTest()
  const of6: LanguageModel6 = face.parley('demo')
  const of7: LanguageModel7 = face.parley('demo')
  expect([of6, of7]).toMatchObject([{ modelId: 'demo' }, { modelId: 'demo' }])
})

describe.each(sdks)('%s', (_, sdk) => {
  it('generates text with reasoning, usage and cost', async () => {
    await using face = await modelUnderTest()
    const result = await sdk.generateText({ model: face.model, prompt: hello })
    expect(result.text).toBe('Hello, you.')
    expect(result.reasoningText).toBe('They greet me.')
    expect(result.finishReason).toBe('stop')
    expect(result.usage).toMatchObject({ inputTokens: 13, outputTokens: 5 })
    expect(result.usage).toMatchObject({ inputTokenDetails: { cacheReadTokens: 10, noCacheTokens: 3 } })
    expect(result.response.modelId).toBe('scripted-large')
    const [session] = await face.sessions()
    const about = { session, agent: 'scripted', outcome: 'completed', costUsd: 0.25 }
    expect(result.providerMetadata?.parley).toMatchObject(about)
    expect(result.warnings ?? []).toEqual([])
  })

  it('streams the parts in order', async () => {
    await using face = await modelUnderTest()
    const tool = { type: 'tool', name: 'Read', input: { path: 'a' }, inputPieces: 2, output: ['x'] } as const
    const prompt = prompted(
      { type: 'thinking', text: 'Hm.', pieces: 1 },
      { type: 'text', text: 'One.', pieces: 1 },
      tool,
      { type: 'text', text: 'Two.', pieces: 1 },
    )
    const result = sdk.streamText({ model: face.model, prompt })
    const types: string[] = []
    for await (const part of result.fullStream) {
      if (types.at(-1) !== part.type) types.push(part.type)
    }
    expect(types).toEqual([
      'start',
      'start-step',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-end',
      'tool-call',
      'tool-result',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
    ])
    expect(await result.text).toBe('One.Two.')
    expect(await result.toolCalls).toMatchObject([
      { toolName: 'Read', input: { path: 'a' }, providerExecuted: true, dynamic: true },
    ])
    expect(await result.toolResults).toMatchObject([{ toolName: 'Read', output: 'x' }])
  })

  it('denies permissions by default, and reports them', async () => {
    await using face = await modelUnderTest()
    const prompt = prompted({ ...running, effect: { writeFile: { path: 'ran', text: 'x' } } })
    const result = await sdk.generateText({ model: face.model, prompt })
    expect(result.content).toContainEqual(
      expect.objectContaining({
        type: 'tool-error',
        toolName: 'Bash',
        error: expect.stringMatching(/denied/),
      }),
    )
    expect(result.providerMetadata?.parley).toMatchObject({ denied: ['Bash'] })
    expect(face.under.runs('ran')).toBe(0)
  })

  it.each([
    ['allows a call when it returns allow', async () => 'allow' as const, 1],
    ['denies a call when it returns deny', () => ({ decision: 'deny', message: 'not today' }) as const, 0],
    ['denies a call when it throws', () => Promise.reject(new Error('lost')), 0],
    ['denies a call when it returns anything else', () => 'yes' as 'allow', 0],
  ])('onPermission %s', async (_case, onPermission, runs) => {
    await using face = await modelUnderTest({ onPermission })
    const prompt = prompted({ ...running, effect: { writeFile: { path: 'ran', text: 'x' } } })
    await sdk.generateText({ model: face.model, prompt })
    expect(face.under.runs('ran')).toBe(runs)
    const [resolved] = await face.events('permission.resolved')
    expect(resolved?.outcome).toBe(runs === 1 ? 'allowed' : 'denied')
  })

  it('leaves permissions to other clients with "wait"', async () => {
    await using face = await modelUnderTest({ onPermission: 'wait' })
    const result = sdk.generateText({ model: face.model, prompt: prompted(running) })
    const off = face.under.host.onSessionChanged(async ({ session, summary }) => {
      if (!summary?.waiting) return
      off()
      const { requests } = await face.under.host.state(session)
      const requestId = requests[0]?.requestId ?? ''
      const answer = { type: 'permission.decide', commandId: 'c', requestId, decision: 'allow' } as const
      await face.under.host.command(session, answer)
    })
    expect((await result).toolResults).toMatchObject([{ toolName: 'Bash' }])
  })

  it('answers questions that take free text, and fails if nobody can answer', async () => {
    await using face = await modelUnderTest()
    const question = { id: 'q', header: 'Q', text: 'Which?', options: [{ label: 'a' }], multiple: false }
    const open = prompted({ type: 'question', questions: [{ ...question, freeText: true }] })
    expect((await sdk.generateText({ model: face.model, prompt: open })).text).toContain('Decide yourself')
    const closed = prompted({ type: 'question', questions: [{ ...question, freeText: false }] })
    const failing = sdk.generateText({ model: face.model, prompt: closed })
    await expect(failing).rejects.toSatisfy(sdk.UnsupportedFunctionalityError.isInstance)
    const onQuestion = () => ({ q: 'a' })
    const model = face.parley('scripted', { onQuestion })
    expect((await sdk.generateText({ model, prompt: closed })).text).toContain('a')
  })

  it('warns about settings that an agent does not have', async () => {
    await using face = await modelUnderTest()
    const { warnings } = await sdk.generateText({
      model: face.model,
      prompt: hello,
      temperature: 1,
      maxOutputTokens: 5,
      seed: 1,
      providerOptions: { parley: { mode: 'bypass' } },
    })
    const features = warnings?.map((warning) => 'feature' in warning && warning.feature)
    expect(features?.sort()).toEqual([
      'maxOutputTokens',
      'providerOptions.parley.mode',
      'seed',
      'temperature',
    ])
    const required = await face.model.doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: hello }] }],
      toolChoice: { type: 'required' },
      tools: [{ type: 'provider', id: 'other.search', name: 'search' }],
    })
    expect(required.warnings).toMatchObject([{ feature: 'tool other.search' }, { feature: 'toolChoice' }])
  })

  it('generates an object that fits a schema', async () => {
    await using face = await modelUnderTest()
    const { output } = await sdk.generateText({
      model: face.model,
      prompt: prompted({ type: 'text', text: 'I count.' }, { type: 'end', structuredOutput: { count: 3 } }),
      output: sdk.Output.object({ schema: z.object({ count: z.number() }) }),
    })
    expect(output).toEqual({ count: 3 })
    const [created] = await face.events('session.created')
    expect(created?.options?.outputSchema).toMatchObject({ type: 'object' })
  })

  it('puts the schema and the instructions into the prompt if the agent has no such settings', async () => {
    const can = capabilities('streaming')
    await using face = await modelUnderTest({
      hosting: { agent: { capabilities: can, script: () => [{ type: 'text', text: '{"count":1}' }] } },
    })
    const { output, warnings } = await sdk.generateText({
      model: face.model,
      system: 'Be brief.',
      prompt: 'How many?',
      output: sdk.Output.object({ schema: z.object({ count: z.number() }) }),
    })
    expect(output).toEqual({ count: 1 })
    expect(warnings).toMatchObject([{ type: 'compatibility', feature: 'responseFormat' }])
    const [prompt] = await face.events('prompt.submitted')
    expect(prompt?.parts.map((part) => 'text' in part && part.text)).toEqual([
      expect.stringContaining('Be brief.'),
      'How many?',
      expect.stringContaining('"count"'),
    ])
  })

  it('cancels the turn when the caller aborts', async () => {
    await using face = await modelUnderTest()
    const aborting = new AbortController()
    const prompt = prompted({ type: 'text', text: 'Wait.' }, { type: 'hang' })
    const generating = sdk.generateText({ model: face.model, prompt, abortSignal: aborting.signal })
    const ended = face.under.host.onSessionChanged(({ summary }) => {
      if (summary?.status === 'working') aborting.abort()
    })
    await expect(generating).rejects.toMatchObject({ name: 'AbortError' })
    ended()
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
    await expect(
      sdk.generateText({ model: face.model, prompt, abortSignal: aborting.signal }),
    ).rejects.toMatchObject({ name: 'AbortError' })
    expect((await face.sessions()).length).toBe(1)
  })

  it('cancels the turn when the reader of a stream aborts or leaves', async () => {
    await using face = await modelUnderTest()
    const aborting = new AbortController()
    const prompt = prompted({ type: 'text', text: 'Wait.' }, { type: 'hang' })
    const result = sdk.streamText({ model: face.model, prompt, abortSignal: aborting.signal })
    const types: string[] = []
    for await (const { type } of result.fullStream) {
      types.push(type)
      if (type === 'text-end') aborting.abort()
    }
    expect(types.at(-1)).toBe('abort')
    await face.until('turn.ended')
    const { stream } = await face.model.doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    })
    const reader = stream.getReader()
    while ((await reader.read()).value?.type !== 'text-end');
    await reader.cancel()
    const [, second = ''] = await face.sessions()
    for await (const event of face.under.host.events(second)) if (event.type === 'turn.ended') break
    expect(await face.events('turn.ended')).toMatchObject([
      { outcome: 'cancelled' },
      { outcome: 'cancelled' },
    ])
  })

  it('fails with the error types of the AI SDK, without a retry, and with a hint', async () => {
    await using face = await modelUnderTest()
    const error = { code: 'agent_failed', message: 'The model is overloaded.' } as const
    const failing = prompted({ type: 'text', text: 'Well' }, { type: 'end', outcome: 'failed', error })
    const failed = await sdk.generateText({ model: face.model, prompt: failing }).catch((thrown) => thrown)
    expect(failed).toMatchObject({ code: 'agent_failed', message: 'The model is overloaded.' })
    expect(sdk.APICallError.isInstance(failed)).toBe(true)
    expect(failed).toBeInstanceOf(ParleyError)
    expect((await face.events('turn.started')).length).toBe(1)
    const errors: unknown[] = []
    const result = sdk.streamText({
      model: face.model,
      prompt: failing,
      onError: ({ error }) => void errors.push(error),
    })
    await result.consumeStream()
    expect(errors).toMatchObject([{ code: 'agent_failed' }])
    expect(await result.finishReason).toBe('error')
  })

  it('refuses an unknown agent, a missing sign-in, a history without a user message at its end, and empty text', async () => {
    const refuse = () => new ParleyError('agent_not_signed_in', 'Run "scripted login".')
    await using face = await modelUnderTest({ hosting: { agent: { refuse } } })
    const { model, parley } = face
    const thrown = (options: Partial<Parameters<typeof sdk.generateText>[0]>) =>
      sdk.generateText({ model, prompt: 'x', ...options } as Parameters<typeof sdk.generateText>[0]).then(
        () => undefined,
        (error: unknown) => error,
      )
    expect(await thrown({ model: parley('nobody') })).toSatisfy(sdk.NoSuchModelError.isInstance)
    const signIn = await thrown({})
    expect(signIn).toSatisfy(sdk.LoadAPIKeyError.isInstance)
    expect(signIn).toMatchObject({ code: 'agent_not_signed_in', message: 'Run "scripted login".' })
    const asked = { role: 'user', content: 'Hello' } as const
    const messages = [asked, { role: 'assistant', content: 'Hi' } as const]
    expect(await thrown({ prompt: undefined as never, messages })).toSatisfy(
      sdk.InvalidPromptError.isInstance,
    )
    expect(await thrown({ prompt: ' ' })).toSatisfy(sdk.InvalidPromptError.isInstance)
    await expect(model.doGenerate({ prompt: [] })).rejects.toSatisfy(sdk.InvalidPromptError.isInstance)
    expect(() => parley.embeddingModel('x')).toThrow(/no embeddingModel/)
  })

  it('passes images and files to the agent', async () => {
    await using face = await modelUnderTest()
    const image = { type: 'image', image: Buffer.from('png'), mediaType: 'image/png' } as const
    const file = { type: 'file', data: Buffer.from('a,b'), mediaType: 'text/csv', filename: 'a.csv' } as const
    const text = { type: 'text', text: say('Seen.') } as const
    await sdk.generateText({
      model: face.model,
      messages: [{ role: 'user', content: [image, file, text] }],
    })
    const [prompt] = await face.events('prompt.submitted')
    expect(prompt?.parts).toEqual([
      { type: 'image', mimeType: 'image/png', data: Buffer.from('png').toString('base64') },
      { type: 'file', name: 'a.csv', mimeType: 'text/csv', text: 'a,b' },
      { type: 'text', text: say('Seen.') },
    ])
  })
})

describe('a stream that has not been read yet', () => {
  const hanging = prompted({ type: 'text', text: 'Wait.' }, { type: 'hang' })

  it('cancels its turn when it is cancelled', async () => {
    await using face = await modelUnderTest()
    const { stream } = await face.model.doStream({ prompt: askedBy(hanging) })
    await stream.cancel()
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
  })

  it('cancels its turn when its caller aborts', async () => {
    await using face = await modelUnderTest()
    const aborting = new AbortController()
    const call = { prompt: askedBy(hanging), abortSignal: aborting.signal }
    const { stream } = await face.model.doStream(call)
    aborting.abort()
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' })
  })

  it.each([
    ['before its turn has ended', false],
    ['after its turn has ended', true],
  ])('releases its tools when it is cancelled %s', async (_when, isOver) => {
    await using face = await modelUnderTest()
    const { host, gates } = face.under
    const tools = [{ type: 'function', name: 'lookup', inputSchema: { type: 'object' } } as const]
    const prompt = askedBy(prompted({ type: 'wait', gate: 'go' }, { type: 'text', text: 'Done.' }))
    const { stream } = await face.model.doStream({ prompt, tools })
    const [id = ''] = await face.sessions()
    await expect(host.offerTools(id, [])).resolves.toBeUndefined()
    if (!isOver) await stream.cancel()
    gates.open('go')
    await face.until('turn.ended')
    if (isOver) await stream.cancel()
    const released = () => expect(host.offerTools(id, [])).rejects.toMatchObject({ code: 'conflict' })
    await vi.waitFor(released, { timeout: 10_000 })
  })
})

it('the model refuses images for an agent that does not accept them, and leaves no session behind', async () => {
  const can = capabilities('streaming')
  await using face = await modelUnderTest({ hosting: { agent: { capabilities: can } } })
  const [, sdk] = sdks[1]
  const image = { type: 'image', image: Buffer.from('png'), mediaType: 'image/png' } as const
  const seeing = sdk.generateText({ model: face.model, messages: [{ role: 'user', content: [image] }] })
  await expect(seeing).rejects.toSatisfy(sdk.UnsupportedFunctionalityError.isInstance)
  expect(await face.sessions()).toEqual([])
})

it('the model refuses a session option that the agent does not support', async () => {
  await using face = await modelUnderTest({ options: { appendSystemPrompt: 'Be kind.' } })
  const [, sdk] = sdks[1]
  const asking = sdk.generateText({ model: face.model, system: 'Be brief.', prompt: hello })
  await expect(asking).rejects.toMatchObject({ code: 'not_supported', functionality: 'appendSystemPrompt' })
})

it('the model uses the reasoning setting of AI SDK 7 as the effort', async () => {
  await using face = await modelUnderTest()
  await ai7.generateText({ model: face.model, prompt: hello, reasoning: 'high' })
  expect(await face.events('session.created')).toMatchObject([{ options: { effort: 'high' } }])
  const can = capabilities('streaming')
  await using other = await modelUnderTest({ hosting: { agent: { capabilities: can } } })
  const { warnings } = await ai7.generateText({ model: other.model, prompt: hello, reasoning: 'high' })
  expect(warnings).toMatchObject([{ type: 'unsupported', feature: 'reasoning' }])
})

it('the model id names the model of the agent', async () => {
  await using face = await modelUnderTest()
  const [, sdk] = sdks[1]
  const { response } = await sdk.generateText({
    model: face.parley('scripted/scripted-small'),
    prompt: hello,
  })
  expect(response.modelId).toBe('scripted-small')
})

it('a call fails when the host closes in the middle of a turn', async () => {
  await using face = await modelUnderTest()
  const [, sdk] = sdks[1]
  const generating = sdk.generateText({
    model: face.model,
    prompt: prompted({ type: 'wait', gate: 'never' }),
  })
  const refused = expect(generating).rejects.toBeInstanceOf(ParleyError)
  const working = Promise.withResolvers<void>()
  face.under.host.onSessionChanged(({ summary }) => summary?.status === 'working' && working.resolve())
  await working.promise
  await face.under.restart()
  await refused
  const parley = createParley({ host: face.under.host, cwd: face.under.cwd })
  expect((await sdk.generateText({ model: parley('scripted'), prompt: hello })).text).toBe('Hello, you.')
})
