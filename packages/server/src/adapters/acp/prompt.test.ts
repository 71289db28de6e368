import { ParleyError, type PromptPart } from '@parley/protocol'
import { expect, it } from 'vitest'
import { contentBlocks, continuation } from './prompt.ts'

const parts: PromptPart[] = [
  { type: 'text', text: 'Look.' },
  { type: 'command', name: 'compact', arguments: 'all of it' },
  { type: 'image', mimeType: 'image/png', data: 'AAAA' },
  { type: 'file', name: 'a b.txt', path: 'docs/a b.txt' },
  { type: 'file', name: 'a.txt', text: 'sage' },
  { type: 'file', name: 'a.bin', data: 'c2FnZQ==', mimeType: 'text/plain' },
]

it('converts each part to what the agent accepts', () => {
  const abilities = { image: true, embeddedContext: true }
  expect(contentBlocks(parts, { cwd: '/somewhere', abilities })).toEqual([
    { type: 'text', text: 'Look.' },
    { type: 'text', text: '/compact all of it' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    { type: 'resource_link', uri: 'file:///somewhere/docs/a%20b.txt', name: 'a b.txt' },
    { type: 'resource', resource: { uri: 'file:///a.txt', text: 'sage' } },
    { type: 'resource', resource: { uri: 'file:///a.bin', blob: 'c2FnZQ==', mimeType: 'text/plain' } },
  ])
})

it('converts files to text for an agent that accepts only text, and refuses images', () => {
  const files = parts.filter(({ type }) => type === 'file').slice(1)
  expect(contentBlocks(files, { cwd: '/somewhere', abilities: {} })).toEqual([
    { type: 'text', text: '<file name="a.txt">\nsage\n</file>' },
    { type: 'text', text: '<file name="a.bin">\nsage\n</file>' },
  ])
  expect(() => contentBlocks(parts, { cwd: '/somewhere', abilities: {} })).toThrow(ParleyError)
})

const prompt: PromptPart[] = [{ type: 'text', text: ' Touch it. ' }]
const waiting = { toolCallId: 'con_1:second', name: 'Bash', title: 'touch it' }
const after = (changes: object, openCalls = [waiting]) =>
  continuation(
    { replaying: true, lastPrompt: 'Touch it.', openCall: undefined, dialect: {}, ...changes },
    {
      type: 'continue',
      prompt: { promptId: 'prm_1', parts: prompt, delivery: 'queue', at: 0 },
      openCalls,
    },
  )

it('asks the model to repeat the call that the agent remembers', () => {
  expect(after({ openCall: 'second' })).toMatchObject([
    { text: expect.stringMatching(/call the same tool again.* You waited for: Bash "touch it"/) },
  ])
  expect(after({ openCall: 'second' }, [{ ...waiting, toolCallId: 'con_1:second#2' }])).toMatchObject([
    { text: expect.stringContaining('call the same tool again') },
  ])
  expect(after({ openCall: 'second' }, [])).toMatchObject([
    { text: expect.stringMatching(/call the same tool again with the same input\.$/) },
  ])
})

it('does not ask again for a call whose result is in the log, even if the agent has lost the result', () => {
  expect(after({ openCall: 'first' })).toMatchObject([
    { text: expect.stringMatching(/You waited for: Bash "touch it"\..* do not do it again\.$/) },
  ])
})

it.each([
  ['the call is done', {}],
  ['the agent forgets such calls', { openCall: 'second', dialect: { forgetsOpenCall: true } }],
  [
    'the agent was told so before',
    {
      lastPrompt:
        'x There was a restart while you waited for an answer: the last call you asked for has not run. Go on from what is done; do not do it again.',
    },
  ],
])('continues after the completed work if %s', (_, changes) => {
  expect(after(changes)).toMatchObject([{ text: expect.stringContaining('do not do it again') }])
})

it('repeats the prompt to an agent that does not remember it', () => {
  expect(after({ lastPrompt: 'Something else.' })).toEqual(prompt)
})

it('sends the explanation and the prompt if nothing was replayed', () => {
  expect(after({ replaying: false, lastPrompt: '' })).toMatchObject([
    { text: expect.stringContaining('What you were asked') },
    { text: ' Touch it. ' },
  ])
})
