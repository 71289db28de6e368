import { capabilities } from '@parley/protocol'
import type { ModelMessage, ToolSet } from 'ai6'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedCapabilities } from '../../adapters/scripted/index.ts'
import { systemClock } from '../../system-clock.ts'
import {
  type ModelUnderTest,
  modelUnderTest,
  prompted,
  repliedIn,
  type Sdk,
  sdks,
} from './model-under-test.ts'

const call = (name: string, input: unknown) => ({ type: 'host-tool', name, input, unasked: true }) as const
const calling = (...words: string[]) =>
  prompted(
    { type: 'text', text: 'I look.' },
    ...words.map((word) => call('lookup', { word })),
    { type: 'text', text: 'Done.' },
    { type: 'end', usage: { input: 7, output: 2 } },
  )

/** A tool of the caller. Only the caller fills in the default value of its input. */
function lookup(sdk: Sdk) {
  const words: string[] = []
  const tool = sdk.tool({
    description: 'Looks a word up.',
    inputSchema: z.object({ word: z.string(), language: z.string().default('en') }),
    execute: async ({ word, language }: { word: string; language: string }) => {
      words.push(`${word}:${language}`)
      if (word === 'nothing') throw new Error('no such word')
      return { herb: word }
    },
  })
  return { tools: { lookup: tool }, words }
}

/** The same tool without `execute`, so the caller runs it itself, later. */
const tools: ToolSet = {
  lookup: { inputSchema: z.object({ word: z.string() }) } as unknown as ToolSet[string],
}
type Output = Extract<
  Extract<ModelMessage, { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>['output']
const resultOf = (toolCallId: string, output: Output): ModelMessage => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 'lookup', output }],
})

describe.each(sdks)('%s', (_, sdk) => {
  it('runs a tool of the caller in the middle of one turn', async () => {
    await using face = await modelUnderTest()
    const { tools, words } = lookup(sdk)
    const stopWhen = sdk.stepCountIs(5)
    const result = await sdk.generateText({ model: face.model, prompt: calling('sage'), tools, stopWhen })
    expect(words).toEqual(['sage:en'])
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect(result.steps.map(({ text }) => text)).toEqual(['I look.', 'The tool says: {"herb":"sage"}Done.'])
    expect(result.totalUsage).toMatchObject({ inputTokens: 7, outputTokens: 2 })
    expect(await face.events('turn.started')).toHaveLength(1)
    expect(await face.events('tool-call.called')).toMatchObject([{ name: 'host:lookup' }])
    expect(await face.events('tool-call.ended')).toMatchObject([
      { outcome: 'completed', content: [{ type: 'text', text: '{"herb":"sage"}' }] },
    ])
  })

  it('runs several tools in sequence in a stream, and continues in the same session afterwards', async () => {
    await using face = await modelUnderTest()
    const { tools, words } = lookup(sdk)
    const user = { role: 'user', content: calling('sage', 'thyme', 'nothing') } as const
    const stopWhen = sdk.stepCountIs(9)
    const result = sdk.streamText({ model: face.model, messages: [user], tools, stopWhen })
    const types: string[] = []
    for await (const { type } of result.fullStream) if (type.startsWith('tool-')) types.push(type)
    expect(words).toEqual(['sage:en', 'thyme:en', 'nothing:en'])
    const one = ['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call']
    expect(types).toEqual([...one, 'tool-result', ...one, 'tool-result', ...one, 'tool-error'])
    expect((await result.steps).length).toBe(4)
    const messages = await repliedIn(result)
    const next = { role: 'user', content: calling('mint') } as const
    await sdk.generateText({ model: face.model, messages: [user, ...messages, next], tools, stopWhen })
    expect(words.at(-1)).toBe('mint:en')
    expect(await face.sessions()).toHaveLength(1)
    expect(await face.events('turn.started')).toHaveLength(2)
    expect(face.under.connections).toHaveLength(1)
  })

  it('can offer other tools in the next turn', async () => {
    await using face = await modelUnderTest()
    const { tools, words } = lookup(sdk)
    const user = { role: 'user', content: prompted({ type: 'text', text: 'Hello.' }) } as const
    const { response } = await sdk.generateText({ model: face.model, messages: [user] })
    const messages = [user, ...response.messages, { role: 'user', content: calling('sage') } as const]
    await sdk.generateText({ model: face.model, messages, tools, stopWhen: sdk.stepCountIs(3) })
    expect(words).toEqual(['sage:en'])
    expect(await face.sessions()).toHaveLength(1)
    expect(face.under.connections).toHaveLength(2)
  })

  it('resumes the turn when the caller sends a result or a denial in a new call', async () => {
    await using face = await modelUnderTest()
    const user = { role: 'user', content: calling('sage') } as const
    const first = await sdk.generateText({ model: face.model, messages: [user], tools })
    expect(first.finishReason).toBe('tool-calls')
    const toolCallId = first.toolCalls[0]?.toolCallId ?? ''
    const output = { type: 'execution-denied', reason: 'not this one' } as const
    const messages = [user, ...first.response.messages, resultOf(toolCallId, output)]
    const second = await sdk.generateText({ model: face.model, messages, tools })
    expect(second.text).toBe('The tool says: not this oneDone.')
    expect(await face.events('tool-call.ended')).toMatchObject([{ outcome: 'failed' }])
    expect(await face.sessions()).toHaveLength(1)
  })

  it('does not resume a waiting turn for another person', async () => {
    await using face = await modelUnderTest({ person: 'ada' })
    const user = { role: 'user', content: calling('sage') } as const
    const first = await sdk.generateText({ model: face.model, messages: [user], tools })
    const toolCallId = first.toolCalls[0]?.toolCallId ?? ''
    const output = { type: 'text', value: 'a herb' } as const
    const messages = [user, ...first.response.messages, resultOf(toolCallId, output)]
    const providerOptions = { parley: { person: 'bob' } }
    const ofBob = await sdk.generateText({ model: face.model, messages, providerOptions })
    expect(ofBob.warnings).toHaveLength(1)
    const ofAda = await sdk.generateText({ model: face.model, messages, tools })
    expect([ofAda.text, ofAda.warnings ?? []]).toEqual(['The tool says: a herbDone.', []])
    expect(await face.sessions()).toHaveLength(2)
  })

  it('steers the same turn with a message after the result, or starts a new session if the agent cannot be steered', async () => {
    const all = capabilities(...scriptedCapabilities)
    for (const [steer, sessions] of [
      [true, 1],
      [false, 2],
    ] as const) {
      const agent = { capabilities: { ...all, steer } }
      await using face = await modelUnderTest({ hosting: { agent } })
      const { tools: own, words } = lookup(sdk)
      const user = { role: 'user', content: calling('sage') } as const
      const first = await sdk.generateText({ model: face.model, messages: [user], tools: own })
      expect([first.finishReason, words]).toEqual(['tool-calls', ['sage:en']])
      const messages = [user, ...first.response.messages, { role: 'user', content: 'Be quick.' } as const]
      const second = await sdk.generateText({ model: face.model, messages, tools: own })
      expect(second.text).toContain('sage')
      expect(second.text).toContain('Be quick.')
      expect(second.warnings ?? []).toHaveLength(sessions - 1)
      expect(await face.sessions()).toHaveLength(sessions)
      const { length } = await face.events('turn.started')
      expect(length).toBe(sessions)
    }
  })

  it('replays the history in a new session when it was changed while a call was open', async () => {
    await using face = await modelUnderTest()
    const user = { role: 'user', content: calling('sage') } as const
    const first = await sdk.generateText({ model: face.model, messages: [user], tools })
    const toolCallId = first.toolCalls[0]?.toolCallId ?? ''
    const output = { type: 'text', value: 'a herb' } as const
    const changed = { role: 'user', content: 'What is sage?' } as const
    const messages = [changed, ...first.response.messages, resultOf(toolCallId, output)]
    const second = await sdk.generateText({ model: face.model, messages, tools })
    expect(second.warnings).toMatchObject([{ type: 'other' }])
    expect(second.text).toContain('What is sage?')
    expect(second.text).toContain('a herb')
    expect(await face.sessions()).toHaveLength(2)
    await face.until('turn.ended')
    expect((await face.events('turn.ended')).map(({ outcome }) => outcome)).toEqual([
      'cancelled',
      'completed',
    ])
  })

  it('cancels a turn whose caller does not return in time, and replays the history for a late caller', async () => {
    await using face = await modelUnderTest({ limits: { waitMs: 1 } })
    const user = { role: 'user', content: calling('sage') } as const
    const first = await sdk.generateText({ model: face.model, messages: [user], tools })
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
    const toolCallId = first.toolCalls[0]?.toolCallId ?? ''
    const output = { type: 'text', value: 'a herb' } as const
    const messages = [user, ...first.response.messages, resultOf(toolCallId, output)]
    const late = await sdk.generateText({ model: face.model, messages })
    expect(late.text).toContain('a herb')
    expect(await face.sessions()).toHaveLength(2)
  })

  it('cancels the turn when the caller aborts while it runs the tool', async () => {
    await using face = await modelUnderTest()
    const aborting = new AbortController()
    const inputSchema = z.object({ word: z.string() })
    const execute = async () => {
      aborting.abort()
      return 'too late'
    }
    const aborted = sdk.generateText({
      model: face.model,
      prompt: calling('sage'),
      tools: { lookup: sdk.tool({ inputSchema, execute }) },
      stopWhen: sdk.stepCountIs(5),
      abortSignal: aborting.signal,
    })
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' })
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
  })

  it('lets only a limited number of turns wait', async () => {
    await using face = await modelUnderTest({ limits: { waiting: 1 } })
    for (const word of ['sage', 'thyme']) {
      await sdk.generateText({ model: face.model, prompt: calling(word), tools })
    }
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
    const [, second = ''] = await face.sessions()
    expect((await face.under.host.state(second)).turn).toBeDefined()
  })

  it('lets a subagent call the tool, and a rule of the host deny it', async () => {
    await using face = await modelUnderTest()
    const { tools, words } = lookup(sdk)
    const steps = [call('lookup', { word: 'sage' })]
    const prompt = prompted({ type: 'subagent', title: 'Look', steps }, { type: 'text', text: 'So be it.' })
    const stopWhen = sdk.stepCountIs(5)
    const result = await sdk.generateText({ model: face.model, prompt, tools, stopWhen })
    expect(words).toEqual(['sage:en'])
    expect(result.text).toContain('So be it.')
    await face.under.host.addRule({ tool: 'host:lookup', decision: 'deny', scope: 'always' })
    const refused = await sdk.generateText({
      model: face.model,
      prompt: calling('thyme'),
      tools,
      stopWhen,
    })
    expect(refused.steps).toHaveLength(1)
    expect(words).toEqual(['sage:en'])
  })

  it('refuses tools for an agent that does not support them, and invalid tool names', async () => {
    const can = capabilities('streaming')
    await using face = await modelUnderTest({ hosting: { agent: { capabilities: can } } })
    const { tools } = lookup(sdk)
    const unable = sdk.generateText({ model: face.model, prompt: 'x', tools })
    await expect(unable).rejects.toSatisfy(sdk.UnsupportedFunctionalityError.isInstance)
    expect(await face.sessions()).toEqual([])
    await using other = await modelUnderTest()
    const odd = { 'a b': tools.lookup }
    const wrong = sdk.generateText({ model: other.model, prompt: 'x', tools: odd })
    await expect(wrong).rejects.toMatchObject({ code: 'validation_error', details: { tool: 'a b' } })
  })
})

describe('a stream that ends with a call', () => {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: calling('sage') }] }]
  const offered = [{ type: 'function', name: 'lookup', inputSchema: { type: 'object' } } as const]

  /** Reads up to a part of this type, then leaves the stream. */
  async function leftAt({ model }: ModelUnderTest, last: 'tool-call' | 'finish') {
    const { stream } = await model.doStream({ prompt, tools: offered })
    let toolCallId = ''
    for await (const part of stream) {
      if (part.type === 'tool-call') toolCallId = part.toolCallId
      if (part.type !== last) continue
      // Gives the stream time to read the next part ahead.
      if (last !== 'finish') await systemClock.yieldToIo()
      break
    }
    return toolCallId
  }

  it('cancels its turn when its reader leaves before the end', async () => {
    await using face = await modelUnderTest()
    await leftAt(face, 'tool-call')
    await face.until('turn.ended')
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'cancelled' }])
  })

  it('is resumed if its reader left only after the end', async () => {
    await using face = await modelUnderTest()
    const toolCallId = await leftAt(face, 'finish')
    const of = { toolCallId, toolName: 'lookup' }
    const output = { type: 'text' as const, value: 'a herb' }
    const { content } = await face.model.doGenerate({
      prompt: [
        ...prompt,
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool-call', ...of, input: { word: 'sage' } },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-result', ...of, output }] },
      ],
      tools: offered,
    })
    expect(content.map((part) => part.type === 'text' && part.text).join('')).toBe(
      'The tool says: a herbDone.',
    )
    expect(await face.events('turn.ended')).toMatchObject([{ outcome: 'completed' }])
  })
})
