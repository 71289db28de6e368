import type { Scenarios } from '@parley/adapter-kit/testing'
import { type Script, scriptInPrompt } from '../adapters/scripted/script.ts'

/** Scenarios of the contract for the scripted agent, over any protocol. */

export const json = (...steps: Script) => JSON.stringify(steps)

export const writing = json(
  { type: 'text', text: 'I write a file.' },
  {
    type: 'permission',
    name: 'Write',
    kind: 'edit',
    title: 'note.txt',
    input: { path: 'note.txt', text: 'once\n' },
    effect: { writeFile: { path: 'note.txt', text: 'once\n' } },
  },
)

/** A script for an agent that can repeat earlier prompts. */
export const remembering = (text: string, { history }: { history: readonly string[] }): Script =>
  text === 'what did I say?'
    ? [{ type: 'text', text: `You said: ${history.join('; ')}` }]
    : text.includes('message for a git commit')
      ? [...scriptInPrompt(writing), { type: 'text', text: `You said: ${history.join('; ')}` }]
      : scriptInPrompt(text)

const question = {
  id: 'colour',
  header: 'Colour',
  text: 'Which?',
  options: [{ label: 'red' }, { label: 'blue' }],
  multiple: false,
  freeText: false,
}
const delegated: Script = [
  { type: 'text', text: 'inside' },
  { type: 'tool', name: 'Read' },
]

const poem = { path: 'poem.txt', patch: '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three' }

export const generalScripts = {
  edit: {
    prompt: () =>
      json({
        type: 'permission',
        name: 'Edit',
        kind: 'edit',
        title: 'Edit poem.txt',
        input: { file_path: 'poem.txt', old_string: 'two', new_string: '2' },
        diffs: [poem],
        content: [{ type: 'diff', ...poem }],
        effect: { writeFile: { path: 'poem.txt', text: 'one\n2\nthree\n', anew: true } },
      }),
  },
  text: { prompt: 'hello there, you', says: 'hello there' },
  busy: { prompt: json({ type: 'text', text: 'and now I wait' }, { type: 'hang' }) },
  toolCall: { prompt: json({ type: 'tool', name: 'Read', kind: 'read', output: ['one', 'two'] }) },
} satisfies Partial<Scenarios>

/** The scenario of each capability. In the scenario for `steer`, the turn waits at the gate `steered`. */
export const capabilityScripts = {
  streaming: { prompt: 'one two three' },
  thinking: { prompt: json({ type: 'thinking', text: 'hm, let me see' }) },
  permissions: { prompt: writing, effect: { path: 'note.txt', text: 'once\n' } },
  questions: {
    prompt: json({ type: 'question', questions: [question] }),
    answers: ([asked]) => ({ [asked?.id ?? '']: 'blue' }),
    says: 'blue',
  },
  plan: { prompt: json({ type: 'plan', entries: [{ text: 'first', status: 'pending' }] }) },
  planApproval: { prompt: json({ type: 'plan-approval', plan: 'first this, then that' }) },
  subagents: { prompt: json({ type: 'subagent', title: 'look', steps: delegated }) },
  files: { prompt: [{ type: 'file', name: 'a.txt', path: 'docs/a.txt' }], says: 'docs/a.txt' },
  resume: { first: 'the word is parsley', second: 'what did I say?', says: 'the word is parsley' },
  fork: { first: 'the word is sage', second: 'what did I say?', says: 'the word is sage' },
  forkBefore: {
    facts: [
      { prompt: 'the herb is dill', says: 'the herb is dill' },
      { prompt: 'the herb is mint', says: 'the herb is mint' },
    ],
    recall: 'what did I say?',
  },
  aside: {
    fact: { prompt: 'the herb is thyme', says: 'the herb is thyme' },
    calls: 'a.txt',
    effect: { path: 'note.txt', text: 'once\n' },
    recall: 'what did I say?',
  },
  forkElsewhere: {
    ...{ first: 'the word is thyme', second: 'what did I say?', says: 'the word is thyme' },
    writes: { prompt: writing, effect: { path: 'note.txt', text: 'once\n' } },
  },
  interrupt: {},
  steer: {
    prompt: json({ type: 'text', text: 'on my way' }, { type: 'wait', gate: 'steered' }),
    words: 'to the left',
    says: 'to the left',
  },
  models: { model: 'scripted-small' },
  effort: { effort: 'high' },
  modes: { mode: 'accept-edits' },
  compaction: {},
} satisfies Partial<Scenarios>
