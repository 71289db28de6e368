import { askingScenes, type Scene } from './demo-scenes-asking.ts'

/**
 * Everything that the demo agent can show, one row per scene; its help and its slash commands are generated from this
 * table. The first scene that matches a prompt is played. To add a scene: 1. add a row; 2. run scripted.test.ts, which
 * plays every row.
 */
export const scenes: readonly Scene[] = [
  ...askingScenes,
  {
    name: 'markdown',
    words: ['markdown', 'table', 'code'],
    shows: 'answers with headings, a list, a table and code',
    script: [
      {
        type: 'text',
        text: [
          '## What markdown looks like here',
          '',
          'A list, with **strong**, *soft* and `code` words:',
          '',
          '- one',
          '- two, with a [link](https://example.com)',
          '',
          '| Agent | Speaks |',
          '| --- | --- |',
          '| Demo | scripts |',
          '',
          '```ts',
          "export const greet = (name: string) => 'Hello, ' + name",
          '```',
          '',
          '> And a quotation to close.',
        ].join('\n'),
      },
    ],
  },
  {
    name: 'image',
    words: ['image', 'picture', 'screenshot'],
    shows: 'shows an image that a tool returned',
    script: [
      {
        type: 'tool',
        name: 'Screenshot',
        kind: 'read',
        title: 'A very small picture',
        input: { page: '/' },
        content: [
          {
            type: 'image',
            mimeType: 'image/png',
            data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
          },
        ],
      },
      {
        type: 'text',
        text: 'That is one pixel. If you attach images to a prompt, I name them in my answer.',
      },
    ],
  },
  {
    name: 'compact',
    words: ['compact'],
    shows: 'compacts its context, as a long session does by itself',
    script: [
      {
        type: 'compaction',
        before: 160_000,
        after: 12_000,
        summary: 'You tried the demo; it showed you what it can do.',
      },
      { type: 'text', text: 'The context is short again; the log is still complete.' },
    ],
  },
  {
    name: 'retract',
    words: ['retract', 'take back'],
    shows: 'writes a text and retracts it',
    script: [
      { type: 'retraction', text: 'The answer is 41.', reason: 'The model corrected itself.' },
      { type: 'text', text: 'The answer is 42. The text before it was retracted.' },
    ],
  },
  {
    name: 'unknown',
    words: ['unknown', 'unrecognised'],
    shows: 'sends a message that Parley does not know',
    script: [
      { type: 'unrecognised', native: { type: 'from_the_future', payload: { answer: 42 } } },
      {
        type: 'text',
        text: 'The message above has an unknown type: it is kept unchanged in the log, and nothing broke.',
      },
    ],
  },
  {
    name: 'usage',
    words: ['usage', 'cost', 'tokens'],
    shows: 'reports context, tokens and cost',
    script: [
      {
        type: 'usage',
        context: { used: 48_200, window: 200_000 },
        total: { input: 91_000, output: 3_400, cacheRead: 77_000 },
        costUsd: 0.1234,
      },
      { type: 'text', text: 'A quarter of the context is used. The cost is made up: the demo is free.' },
    ],
  },
  {
    name: 'notice',
    words: ['notice', 'retry', 'rate limit'],
    shows: 'reports a rate limit and a retry',
    script: [
      {
        type: 'notice',
        level: 'warning',
        code: 'rate_limited',
        text: 'The model is busy; trying again in 2 s.',
      },
      { type: 'pause', ms: 400 },
      { type: 'text', text: 'The second attempt went through.' },
    ],
  },
  {
    name: 'structured',
    words: ['structured', 'json'],
    shows: 'ends with a result in a given shape',
    script: [
      { type: 'text', text: 'The result of this turn is data.' },
      {
        type: 'end',
        result: 'Two files need work.',
        structuredOutput: { files: ['src/greet.ts', 'src/old.ts'], count: 2 },
      },
    ],
  },
  {
    name: 'rename',
    words: ['rename', 'title'],
    shows: 'gives the session a title',
    script: [
      { type: 'rename', title: 'A look at the demo' },
      { type: 'text', text: 'The session has a new title.' },
    ],
  },
  {
    name: 'fail',
    words: ['fail', 'error'],
    shows: 'makes a tool call fail, and then the turn',
    script: [
      {
        type: 'tool',
        name: 'WebFetch',
        kind: 'fetch',
        title: 'Fetch https://example.invalid',
        input: { url: 'https://example.invalid', prompt: 'What does the page say?' },
        outcome: 'failed',
        content: [{ type: 'text', text: 'The host example.invalid was not found.' }],
      },
      {
        type: 'end',
        outcome: 'failed',
        error: {
          code: 'agent_failed',
          message: 'The model stopped: the demo made this error up.',
        },
      },
    ],
  },
  {
    name: 'crash',
    words: ['crash'],
    shows: 'crashes; the next prompt starts it again',
    stops: 'by-crashing',
    script: [
      { type: 'text', text: 'I do not feel so well' },
      { type: 'crash', exitCode: 139, stderrTail: 'Segmentation fault (pretended)\n' },
    ],
  },
  {
    name: 'hang',
    words: ['hang', 'stuck'],
    shows: 'hangs until you stop it',
    stops: 'when-stopped',
    script: [{ type: 'text', text: 'I do nothing now until you stop me.' }, { type: 'hang' }],
  },
  {
    name: 'flood',
    words: ['flood', 'fast'],
    shows: 'writes 20,000 pieces as fast as you can read them',
    script: [
      { type: 'flood', deltas: 20_000, size: 12 },
      { type: 'text', text: 'That was 240,000 characters.' },
    ],
  },
  {
    name: 'think',
    words: ['think', 'reason'],
    shows: 'thinks before it answers',
    script: [
      {
        type: 'thinking',
        text: 'Someone wants to see me think. I could pretend to weigh two ways of doing it, and then take the second.',
      },
      { type: 'text', text: 'I thought about it, and the second way is better.' },
    ],
  },
]
