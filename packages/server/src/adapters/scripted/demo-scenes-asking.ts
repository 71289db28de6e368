import type { Script } from './script.ts'

export type Scene = {
  /** The name of the scene and of its slash command. */
  readonly name: string
  /** A prompt that contains one of these words plays the scene. */
  readonly words: readonly string[]
  readonly shows: string
  readonly script: Script
  /** Set for a scene that does not end by itself: it ends when it is interrupted, or by a crash of the connection. */
  readonly stops?: 'when-stopped' | 'by-crashing'
}

const greetPatch = [
  '@@ -1,1 +1,1 @@',
  "-export const greet = () => 'Hello'",
  "+export const greet = (name: string) => 'Hello, ' + name",
].join('\n')

/** The demo scenes in which the agent waits for a person. */
export const askingScenes: readonly Scene[] = [
  {
    name: 'parallel',
    words: ['parallel'],
    shows: 'runs tools in parallel, two of them waiting for you at once',
    script: [
      { type: 'text', text: 'These three do not depend on each other, so I start them together.' },
      {
        type: 'parallel',
        calls: [
          {
            type: 'permission',
            name: 'Bash',
            kind: 'execute',
            title: 'npm run lint',
            input: { command: 'npm run lint' },
            output: ['Checked 148 files. No problems.\n'],
          },
          {
            type: 'permission',
            name: 'Bash',
            kind: 'execute',
            title: 'npm run typecheck',
            input: { command: 'npm run typecheck' },
            output: ['0 errors\n'],
          },
          {
            type: 'tool',
            name: 'Read',
            kind: 'read',
            title: 'Read package.json',
            input: { file_path: 'package.json' },
            locations: [{ path: 'package.json', line: 1 }],
            output: ['{ "name": "demo" }\n'],
          },
        ],
      },
      { type: 'text', text: 'All three are settled. Nothing really ran: this is a demo.' },
    ],
  },
  {
    name: 'permission',
    words: ['permission', 'approval', 'allow', 'deny'],
    shows: 'asks for permission before it does something',
    script: [
      { type: 'text', text: 'The old build is in the way. I would like to remove it.' },
      {
        type: 'permission',
        name: 'Bash',
        kind: 'execute',
        title: 'rm -rf build',
        input: { command: 'rm -rf build', description: 'Remove the old build' },
        reason: 'It deletes files.',
        output: ['(nothing was removed: this is a demo)\n'],
        reply: {
          allowed: 'Thank you. With a real agent, the folder would now be gone; the demo only pretends.',
          denied: 'As you wish: I leave it alone.',
        },
      },
    ],
  },
  {
    name: 'command',
    words: ['run a command', 'command', 'terminal'],
    shows: 'runs a command, with its output as it comes (simulated: nothing is run)',
    script: [
      { type: 'text', text: 'I run the tests.' },
      {
        type: 'permission',
        name: 'Bash',
        kind: 'execute',
        title: 'npm test',
        input: { command: 'npm test' },
        output: ['> demo@1.0.0 test\n', '> vitest run\n\n', ' ✓ 42 tests passed\n'],
        content: [
          {
            type: 'terminal',
            output: '> demo@1.0.0 test\n> vitest run\n\n ✓ 42 tests passed\n',
            exitCode: 0,
          },
        ],
        reply: {
          allowed: 'All 42 pass. (No command was run: the demo made this output up.)',
          denied: 'Then I did not run them.',
        },
      },
    ],
  },
  {
    name: 'edit',
    words: ['edit', 'diff', 'change a file'],
    shows: 'edits a file and shows the diff (simulated: nothing is written)',
    script: [
      {
        type: 'tool',
        name: 'Read',
        kind: 'read',
        title: 'Read src/greet.ts',
        input: { file_path: 'src/greet.ts' },
        locations: [{ path: 'src/greet.ts', line: 1 }],
        output: ["export const greet = () => 'Hello'\n"],
      },
      {
        type: 'permission',
        name: 'Edit',
        kind: 'edit',
        title: 'Edit src/greet.ts',
        input: {
          file_path: 'src/greet.ts',
          old_string: "greet = () => 'Hello'",
          new_string: "greet = (name: string) => 'Hello, ' + name",
          replace_all: false,
        },
        locations: [{ path: 'src/greet.ts' }],
        diffs: [{ path: 'src/greet.ts', patch: greetPatch }],
        content: [{ type: 'diff', path: 'src/greet.ts', patch: greetPatch }],
        reply: {
          allowed: 'The greeting takes a name now. (The demo wrote nothing: the diff is for show.)',
          denied: 'The file stays as it is.',
        },
      },
    ],
  },
  {
    name: 'question',
    words: ['ask me', 'question'],
    shows: 'asks you something, with options and with free text',
    script: [
      { type: 'text', text: 'Before I begin I need to know two things.' },
      {
        type: 'question',
        tool: 'AskUserQuestion',
        questions: [
          {
            id: 'database',
            header: 'Database',
            text: 'Where should the data live?',
            options: [
              { label: 'SQLite', description: 'One file, nothing to run' },
              { label: 'Postgres', description: 'A server, for many users at once' },
            ],
            multiple: false,
            freeText: true,
          },
          {
            id: 'extras',
            header: 'Extras',
            text: 'What else should be set up?',
            options: [{ label: 'Tests' }, { label: 'Linting' }, { label: 'Continuous integration' }],
            multiple: true,
            freeText: false,
          },
        ],
      },
      { type: 'text', text: 'With that I could start.' },
    ],
  },
  {
    name: 'plan',
    words: ['plan'],
    shows: 'makes a plan, asks you to approve it, and ticks it off',
    script: [
      { type: 'thinking', text: 'What has to happen first, and what can wait?' },
      {
        type: 'plan-approval',
        plan: '1. Read the code\n2. Write a failing test\n3. Fix it',
        reply: { allowed: 'Off we go.', denied: 'Then we should talk about the plan first.' },
        endOnDenied: true,
      },
      {
        type: 'plan',
        entries: [
          { id: '1', text: 'Read the code', status: 'in-progress', priority: 'high' },
          { id: '2', text: 'Write a failing test', status: 'pending' },
          { id: '3', text: 'Fix it', status: 'pending' },
        ],
      },
      { type: 'pause', ms: 400 },
      {
        type: 'plan',
        entries: [
          { id: '1', text: 'Read the code', status: 'completed', priority: 'high' },
          { id: '2', text: 'Write a failing test', status: 'in-progress' },
          { id: '3', text: 'Fix it', status: 'pending' },
        ],
      },
      {
        type: 'text',
        text: 'The plan is shown beside the conversation; the demo stops half way through it.',
      },
    ],
  },
  {
    name: 'subagent',
    words: ['subagent', 'delegate'],
    shows: 'hands work to a subagent, which asks for permission too',
    script: [
      { type: 'text', text: 'I hand the search to a subagent.' },
      {
        type: 'subagent',
        title: 'Find unused exports',
        summary: 'Two exports are unused: `oldGreet` and `unusedThing`.',
        steps: [
          { type: 'thinking', text: 'I list the exports first.' },
          {
            type: 'tool',
            name: 'Grep',
            kind: 'search',
            title: 'Search for "export const"',
            input: { pattern: 'export const', path: 'src', output_mode: 'content' },
            output: ['src/greet.ts:1\n', 'src/old.ts:3\n'],
          },
          {
            type: 'permission',
            name: 'Bash',
            kind: 'execute',
            title: 'npx knip',
            input: { command: 'npx knip' },
            output: ['2 unused exports\n'],
          },
          { type: 'text', text: 'Two exports are never imported.' },
        ],
      },
      { type: 'text', text: 'The subagent is back with its result.' },
    ],
  },
]
