import { promptText } from '@parley/protocol'
import type { ModelMessage } from 'ai6'
import { describe, expect, it } from 'vitest'
import { createParley } from './index.ts'
import { modelUnderTest, prompted, sdks } from './model-under-test.ts'

const rich = prompted(
  { type: 'thinking', text: 'Hm.' },
  { type: 'text', text: 'First. ' },
  { type: 'tool', name: 'Read', input: { path: 'a' }, output: ['x'] },
  { type: 'tool', name: 'Read', input: { path: 'b' }, outcome: 'failed', output: ['no such file'] },
  { type: 'text', text: 'Second.' },
)
const one = { type: 'text', text: 'One.' } as const
const say = (text: string) => ({ role: 'user', content: prompted({ type: 'text', text }) }) as const
const asked = { role: 'user', content: rich } as const

describe.each(sdks)('%s', (_, sdk) => {
  it('continues in the same session when the caller sends the whole reply back', async () => {
    await using face = await modelUnderTest()
    const { response } = await sdk.generateText({ model: face.model, messages: [asked] })
    const two = [asked, ...response.messages, say('Two.')]
    const second = await sdk.generateText({ model: face.model, messages: two })
    expect(second.text).toBe('Two.')
    expect(second.warnings ?? []).toEqual([])
    const three = [...two, ...second.response.messages, say('Three.')]
    const third = sdk.streamText({ model: face.model, messages: three })
    expect(await third.text).toBe('Three.')
    expect(await face.sessions()).toHaveLength(1)
    expect(await face.events('turn.started')).toHaveLength(3)
    expect(face.under.connections).toHaveLength(1)
    const prompts = (await face.events('prompt.submitted')).map(({ parts }) => promptText(parts))
    expect(prompts).toEqual([asked, say('Two.'), say('Three.')].map(({ content }) => content))
  })

  it('continues the session if the caller kept only the text of a reply without calls, and replays a reply with calls', async () => {
    await using face = await modelUnderTest()
    const plain = { role: 'user', content: prompted({ type: 'thinking', text: 'Hm.' }, one) } as const
    const { text } = await sdk.generateText({ model: face.model, messages: [plain] })
    const two = [plain, { role: 'assistant', content: text } as const, say('Two.')]
    const second = await sdk.generateText({ model: face.model, messages: two })
    expect([second.text, second.warnings ?? []]).toEqual(['Two.', []])
    expect(await face.sessions()).toHaveLength(1)
    const called = await sdk.generateText({ model: face.model, messages: [asked] })
    const words = { role: 'assistant', content: called.text } as const
    const anybody = await sdk.generateText({ model: face.model, messages: [asked, words, say('Two.')] })
    expect([anybody.text, anybody.warnings?.length]).toEqual(['Two.', 1])
    expect(await face.sessions()).toHaveLength(3)
  })

  it('does not continue the session of another person with the same history', async () => {
    await using face = await modelUnderTest({ person: 'ada' })
    const { response } = await sdk.generateText({ model: face.model, messages: [say('One.')] })
    const messages = [say('One.'), ...response.messages, say('Two.')]
    const providerOptions = { parley: { person: 'bob' } }
    const ofBob = await sdk.generateText({ model: face.model, messages, providerOptions })
    expect(ofBob.warnings).toMatchObject([{ type: 'other', message: expect.stringContaining('history') }])
    expect(await face.sessions()).toHaveLength(2)
    const ofAda = await sdk.generateText({ model: face.model, messages })
    expect(ofAda.warnings ?? []).toEqual([])
    const three = [...messages, ...ofBob.response.messages, say('Three.')]
    const again = await sdk.generateText({
      model: face.parley('scripted', { person: 'bob' }),
      messages: three,
    })
    expect(again.warnings ?? []).toEqual([])
    expect(await face.sessions()).toHaveLength(2)
  })

  it.each(['', null, 7])('refuses %j as a person', async (person) => {
    await using face = await modelUnderTest()
    const asking = sdk.generateText({
      model: face.model,
      prompt: 'x',
      providerOptions: { parley: { person } },
    })
    await expect(asking).rejects.toMatchObject({ code: 'validation_error' })
    expect(await face.sessions()).toEqual([])
  })

  it('continues from the messages that a page holds', async () => {
    await using face = await modelUnderTest()
    const page = [{ id: '1', role: 'user' as const, parts: [{ type: 'text' as const, text: rich }] }]
    const result = sdk.streamText({ model: face.model, messages: await sdk.convertToModelMessages(page) })
    let message = { id: '2', role: 'assistant', parts: [] } as (typeof page)[number] | object
    for await (const one of sdk.readUIMessageStream({ stream: result.toUIMessageStream() })) message = one
    const held = JSON.parse(JSON.stringify([...page, message])) as typeof page
    const more = {
      id: '3',
      role: 'user' as const,
      parts: [{ type: 'text' as const, text: say('Two.').content }],
    }
    const messages = await sdk.convertToModelMessages([...held, more])
    expect((await sdk.generateText({ model: face.model, messages })).text).toBe('Two.')
    expect(await face.sessions()).toHaveLength(1)
  })

  it('replays an edited history in a new session, complete and marked as history', async () => {
    await using face = await modelUnderTest()
    const { response } = await sdk.generateText({ model: face.model, messages: [asked] })
    const edited = JSON.parse(JSON.stringify(response.messages).replace('Second.', 'Another.'))
    const second = await sdk.generateText({
      model: face.model,
      messages: [asked, ...edited, say('Two.')],
    })
    expect(second.text).toBe('Two.')
    expect(second.warnings).toMatchObject([{ type: 'other', message: expect.stringContaining('history') }])
    expect(second.providerMetadata?.parley).toMatchObject({ replayed: true })
    expect(await face.sessions()).toHaveLength(2)
    const reported = promptText((await face.events('prompt.submitted'))[1]?.parts ?? [])
    expect(reported).toMatch(/^\[Earlier in this conversation/)
    for (const word of [
      '"role":"user"',
      'First. ',
      'Another.',
      'Read',
      '"path":"b"',
      'no such file',
      'Hm.',
    ]) {
      expect(reported).toContain(word)
    }
    expect(reported.endsWith(`The new prompt follows.]\n${say('Two.').content}`)).toBe(true)
    const third = [asked, ...edited, say('Two.'), ...second.response.messages, say('Three.')]
    expect((await sdk.generateText({ model: face.model, messages: third })).warnings ?? []).toEqual([])
    expect(await face.sessions()).toHaveLength(2)
  })

  it('replays the history, with its images, after a compaction, other instructions or another mode', async () => {
    await using face = await modelUnderTest()
    const { response } = await sdk.generateText({ model: face.model, system: 'A', messages: [asked] })
    const image = { type: 'image', image: Buffer.from('png'), mediaType: 'image/png' } as const
    const summary: ModelMessage = { role: 'user', content: [{ type: 'text', text: 'So far: <x>' }, image] }
    const compacted: ModelMessage[] = [summary, { role: 'assistant', content: 'Yes.' }, say('Two.')]
    const messages = [asked, ...response.messages, say('Two.')]
    const replays = [
      { system: 'A', messages: compacted },
      { system: 'B', messages },
      { system: 'A', messages, model: face.parley('scripted', { mode: 'read-only' }) },
    ]
    for (const replay of replays) {
      const { text, warnings } = await sdk.generateText({ model: face.model, ...replay })
      expect([text.slice(-4), warnings?.length]).toEqual(['Two.', 1])
    }
    expect(await face.sessions()).toHaveLength(4)
    const reported = (await face.events('prompt.submitted')).map(({ parts }) => parts)
    expect(reported[1]).toContainEqual({ type: 'image', mimeType: 'image/png', data: 'cG5n' })
    expect(promptText(reported[1] ?? [])).toContain('So far: <x>')
  })

  it('gives a second branch of the same history its own session', async () => {
    await using face = await modelUnderTest()
    const { response } = await sdk.generateText({ model: face.model, messages: [asked] })
    const two = [asked, ...response.messages, say('Two.')]
    const branches = [two, two, two].map((messages) => sdk.generateText({ model: face.model, messages }))
    for (const branch of await Promise.all(branches)) expect(branch.text).toBe('Two.')
    expect(await face.sessions()).toHaveLength(3)
  })

  it('does not continue in a session that has further turns or was deleted', async () => {
    await using face = await modelUnderTest()
    const { host } = face.under
    const first = await sdk.generateText({ model: face.model, messages: [asked] })
    const [id = ''] = await face.sessions()
    const { seq } = await host.command(id, { type: 'prompt.submit', commandId: 'c', text: 'From elsewhere' })
    for await (const event of host.events(id, { after: seq })) if (event.type === 'turn.ended') break
    const messages = [asked, ...first.response.messages, say('Two.')]
    const second = await sdk.generateText({ model: face.model, messages })
    expect(second.warnings).toHaveLength(1)
    for (const session of await face.sessions()) await host.delete(session)
    const three = [...messages, ...second.response.messages, say('Three.')]
    const third = await sdk.generateText({ model: face.model, messages: three })
    expect([third.text, third.warnings?.length]).toEqual(['Three.', 1])
  })

  it('remembers a limited number of sessions, and those of another instance not at all', async () => {
    await using face = await modelUnderTest({ limits: { sessions: 1 } })
    const [a, b] = [say('A.'), say('B.')]
    const ofA = await sdk.generateText({ model: face.model, messages: [a] })
    const ofB = await sdk.generateText({ model: face.model, messages: [b] })
    const forgotten = [a, ...ofA.response.messages, say('Two.')]
    const known = [b, ...ofB.response.messages, say('Two.')]
    const again = await sdk.generateText({ model: face.model, messages: known })
    expect(again.warnings ?? []).toEqual([])
    expect((await sdk.generateText({ model: face.model, messages: forgotten })).warnings).toHaveLength(1)
    const parley = createParley({ host: face.under.host, cwd: face.under.cwd })
    const three = [...known, ...again.response.messages, say('Three.')]
    const other = await sdk.generateText({ model: parley('scripted'), messages: three })
    expect([other.text, other.warnings?.length]).toEqual(['Three.', 1])
  })
})
