import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modelPrompt } from '../../packages/server/src/testing/model-by-prompt.ts'
import { bash, ClaudeFixture, call, done, fileText, isRunning, seen } from './claude-fixture.ts'

/** Tests ordinary use of the real Claude Code, through the server and its client. */
let claude: ClaudeFixture
beforeAll(async () => {
  claude = await ClaudeFixture.start()
  const commands = join(claude.home, '.claude', 'commands')
  mkdirSync(commands, { recursive: true })
  writeFileSync(
    join(commands, 'greet.md'),
    `---\ndescription: Say hello\n---\n${modelPrompt('Greet $ARGUMENTS.', history)}`,
  )
})
afterAll(() => claude?.[Symbol.asyncDispose]())

const history = { say: 'history' } as const
/** A prompt with a word that the agent does not know yet. Tests share a session, so each test needs its own word. */
function report(): { word: string; prompt: string } {
  const word = randomUUID()
  return { word, prompt: modelPrompt(`The word is ${word}.`, done) }
}
const asked = modelPrompt('Which word?', history)

describe('an answer', () => {
  it('is streamed and then written, with the same text', async () => {
    const session = await claude.sharedSession()
    const { seq: after } = await session.when(() => true)
    const words = 'One, two, three, four, five, six, seven.'
    const pieces: string[] = []
    const hearing = (async () => {
      for await (const item of claude.client.feed(session.id, { after })) {
        if (item.type === 'delta' && item.delta.type === 'text.streamed') pieces.push(item.delta.text)
        if (item.type === 'event' && item.event.type === 'turn.ended') return
      }
    })()
    const log = await session.completes(modelPrompt('Count.', { content: words }))
    await hearing
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.join('')).toBe(words)
    expect(log.said).toBe(words)
  })

  it('comes after the thinking that led to it', async () => {
    const session = await claude.sharedSession()
    const log = await session.completes(modelPrompt('Think.', { reasoning: 'Let me see.', content: 'Yes.' }))
    const written = log.events.filter(({ type }) => type === 'thinking.written' || type === 'text.written')
    expect(written).toMatchObject([
      { type: 'thinking.written', text: 'Let me see.' },
      { type: 'text.written', text: 'Yes.' },
    ])
  })

  it('to a prompt with text and an image: the model sees the image', async () => {
    const session = await claude.sharedSession()
    await session.completes([
      { type: 'text', text: modelPrompt('Look.', { content: 'A pixel.' }) },
      { type: 'image', mimeType: 'image/png', data: onePixel },
    ])
    expect(claude.modelSaw('image')).toMatchObject([
      { source: { type: 'base64', media_type: 'image/png', data: onePixel } },
    ])
  })

  it('has the requested shape', async () => {
    const outputSchema = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] }
    const session = await claude.session({ options: { outputSchema } })
    const log = await session.completes(modelPrompt('Count.', call('StructuredOutput', { count: 2 }), done))
    expect(log.end.structuredOutput).toEqual({ count: 2 })
  })
})

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('a slash command', () => {
  it('with arguments reaches the model', async () => {
    const session = await claude.sharedSession()
    const log = await session.completes([{ type: 'command', name: 'greet', arguments: 'Ada' }])
    expect(log.said).toContain('Greet Ada.')
    const { connection } = await session.when(() => true)
    expect(connection?.commands).toContainEqual(
      expect.objectContaining({ name: 'greet', description: expect.stringContaining('Say hello') }),
    )
  })

  it('that needs no model is answered too', async () => {
    const session = await claude.sharedSession()
    const before = claude.model.calls.length
    const log = await session.completes([{ type: 'command', name: 'usage' }])
    expect(claude.model.calls.length).toBe(before)
    expect(log.said + log.ofTurn('agent.noticed').map(({ text }) => text)).toMatch(/cost|usage/i)
  })
})

describe('a turn that is stopped', () => {
  it('during a command ends the command, keeps the process, and the next prompt runs in it', async () => {
    const session = await claude.sharedSession({ mode: 'bypass' })
    await session.prompt(modelPrompt('Wait.', bash('echo $$ > pid; exec tail -f /dev/null'), done))
    const pid = Number(await fileText(join(session.folder, 'pid')))
    await claude.client.cancel(session.id)
    const log = await session.ended()
    expect(log.end).toMatchObject({ outcome: 'cancelled', stopReason: 'cancelled' })
    expect(log.ofTurn('tool-call.ended')).toMatchObject([{ outcome: 'cancelled' }])
    await seen(() => !isRunning(pid))
    const next = await session.completes(modelPrompt('Hello.', { content: 'Hello.' }))
    expect(next.connections).toEqual(log.connections)
  })

  it('in mid-answer keeps the text so far and the process, and disconnects from the model', async () => {
    const session = await claude.sharedSession()
    const { word, prompt } = report()
    const before = await session.completes(prompt)
    const hold = claude.model.hold(5)
    await session.prompt(modelPrompt('Talk.', { content: 'One, two, three, four, five, six, seven, eight.' }))
    await hold.reached
    await session.when(({ openBlocks }) => openBlocks.some((block) => 'text' in block && block.text !== ''))
    await claude.client.cancel(session.id)
    const log = await session.ended()
    expect(await seen(() => claude.model.calls.at(-1)?.complete === false)).toBe(true)
    hold.release()
    expect(log.end).toMatchObject({ outcome: 'cancelled', stopReason: 'cancelled' })
    expect(log.ofTurn('text.written')).toMatchObject([{ interrupted: true, text: /^One, two/ }])
    const next = await session.completes(asked)
    expect(next.connections).toEqual(before.connections)
    expect(next.said).toContain(word)
  })
})

it('a running turn takes up a steered prompt', async () => {
  const session = await claude.sharedSession({ mode: 'bypass' })
  const waiting = bash('until [ -e go ]; do sleep 0.02; done')
  await session.prompt(modelPrompt('Wait.', waiting, history))
  await session.when(({ openBlocks }) =>
    openBlocks.some((block) => block.type === 'tool-call' && block.called),
  )
  await session.steer('Go to the left.')
  writeFileSync(join(session.folder, 'go'), '')
  const log = await session.ended()
  expect(log.outcomes).toEqual(['completed'])
  expect(log.said).toContain('Go to the left.')
})

describe.each(['SIGTERM', 'SIGKILL'] as const)('after a restart of the server (%s)', (signal) => {
  it('the conversation continues under the same id in another process', async () => {
    const session = await claude.sharedSession()
    const { word, prompt } = report()
    const first = await session.completes(prompt)
    await claude.server.end(signal)
    await claude.server.start()
    const second = await session.completes(asked)
    expect(second.said).toContain(`The word is ${word}.`)
    expect(second.connections).toHaveLength(first.connections.length + 1)
    const ids = second.connected.flatMap(({ agentSessionId }) => agentSessionId ?? [])
    expect(new Set(ids).size).toBe(1)
    expect(first.connected.some(({ agentSessionId }) => agentSessionId === ids[0])).toBe(true)
  })
})

it('a fork and its source both remember the past, and neither sees the other', async () => {
  const parent = await claude.sharedSession()
  const { word, prompt } = report()
  await parent.completes(prompt)
  const { sessionId } = await claude.client.fork(parent.id)
  const fork = claude.follow(sessionId)
  const secret = randomUUID()
  const inFork = await fork.completes(modelPrompt(`The second word is ${secret}.`, history))
  expect(inFork.said).toContain(word)
  expect(inFork.said).toContain(secret)
  const inParent = await parent.completes(asked)
  expect(inParent.said).toContain(word)
  expect(inParent.said).not.toContain(secret)
  const ids = (log: typeof inFork) => log.connected.at(-1)?.agentSessionId
  expect(ids(inFork)).not.toBe(ids(inParent))
})

it('a compaction is reported, and the session continues with the summary', async () => {
  const session = await claude.sharedSession()
  await session.completes(report().prompt)
  await session.compact()
  const log = await session.ended()
  expect(log.outcomes).toEqual(['completed', 'completed'])
  expect(log.ofTurn('context.compacted')).toMatchObject([{ trigger: 'manual' }])
  expect((await session.completes(asked)).said).toContain('All that was said.')
})

describe('a limit', () => {
  it('of steps ends the turn and is named; the session continues', async () => {
    const session = await claude.session({ mode: 'bypass', options: { maxTurns: 1 } })
    await session.prompt(modelPrompt('Work.', bash('true'), bash('true'), done))
    const log = await session.ended()
    expect(log.end).toMatchObject({ outcome: 'failed', stopReason: 'max_turns' })
    expect(log.end.error?.message).toContain('limit of steps')
    await session.completes(modelPrompt('Hello.', { content: 'Hello.' }))
  })

  it('of cost ends the turn and is named', async () => {
    const session = await claude.session({ mode: 'bypass', options: { maxBudgetUsd: 0.01 } })
    const dear = { ...bash('true'), usage: { input_tokens: 1_000_000, output_tokens: 10_000 } }
    await session.prompt(modelPrompt('Work.', dear, bash('true'), done))
    const log = await session.ended()
    expect(log.end).toMatchObject({ outcome: 'failed' })
    expect(log.end.error?.message).toContain('budget')
  })
})
