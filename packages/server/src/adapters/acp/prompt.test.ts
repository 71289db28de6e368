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

it('gives each part as the agent takes it', () => {
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

it('puts files into words for an agent that takes nothing else, and refuses images', () => {
  const files = parts.filter(({ type }) => type === 'file').slice(1)
  expect(contentBlocks(files, { cwd: '/somewhere', abilities: {} })).toEqual([
    { type: 'text', text: '<file name="a.txt">\nsage\n</file>' },
    { type: 'text', text: '<file name="a.bin">\nsage\n</file>' },
  ])
  expect(() => contentBlocks(parts, { cwd: '/somewhere', abilities: {} })).toThrow(ParleyError)
})

const prompt: PromptPart[] = [{ type: 'text', text: ' Touch it. ' }]
const after = (changes: object) =>
  continuation(
    { replaying: true, lastHeard: 'Touch it.', openCall: undefined, dialect: {}, ...changes },
    prompt,
  )

it('asks for the call again that the agent remembers', () => {
  expect(after({ openCall: 'a' })).toMatchObject([
    { text: expect.stringContaining('call the same tool again') },
  ])
})

it.each([
  ['the call is done', {}],
  ['it forgets such calls', { openCall: 'a', dialect: { forgetsOpenCall: true } }],
  [
    'it was told so before',
    {
      lastHeard:
        'x There was a restart while you waited for an answer: the last call you asked for has not run. Go on from what is done; do not do it again.',
    },
  ],
])('goes on from what is done where %s', (_, changes) => {
  expect(after(changes)).toMatchObject([{ text: expect.stringContaining('do not do it again') }])
})

it('gives the prompt again to an agent that does not know it', () => {
  expect(after({ lastHeard: 'Something else.' })).toEqual(prompt)
})

it('says both where nothing was replayed', () => {
  expect(after({ replaying: false, lastHeard: '' })).toMatchObject([
    { text: expect.stringContaining('What you were asked') },
    { text: ' Touch it. ' },
  ])
})
