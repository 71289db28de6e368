import type { Rule } from './rule.ts'
import { adapterKit, entryPoints, server } from './workspace.ts'

const agentHelpers = `${server}/adapters/*`
const agentList = `${server}/adapters/index.ts`

/** The entry points of the kit: an adapter from elsewhere can use all of them. */
const kit = [...entryPoints.keys()].filter(
  (name) => name.startsWith('@parley/adapter-kit') && !name.endsWith('/testing'),
)

const adapter = (name: string, packages: string[]): Rule => ({
  folder: `${server}/adapters/${name}`,
  mayImport: [],
  packages: ['@parley/protocol', ...packages],
  always: kit,
  instead:
    'an adapter uses only the adapter kit, the protocol and its own folder, never another agent or core. Move shared code to packages/adapter-kit.',
})

/** The imports that the folders of agents may have. */
export const adapterRules: readonly Rule[] = [
  {
    folder: agentList,
    mayImport: [agentHelpers, `${server}/adapters`],
    packages: ['@parley/adapter-kit', '@parley/adapter-kit/advice', '@parley/adapter-kit/environment'],
    instead: 'this file only lists the agents.',
  },
  adapter('acp', [
    '@agentclientprotocol/sdk',
    '@parley/protocol/diff',
    'node:child_process',
    'node:crypto',
    'node:fs',
    'node:os',
    'node:path',
    'node:timers',
    'node:url',
    'zod',
  ]),
  adapter('claude', [
    '@anthropic-ai/claude-agent-sdk',
    'node:crypto',
    'node:fs',
    'node:module',
    'node:os',
    'node:path',
    'node:readline',
    'node:url',
  ]),
  adapter('codex', [
    'node:child_process',
    'node:fs',
    'node:net',
    'node:os',
    'node:path',
    'node:stream',
    'node:url',
    'node:util',
  ]),
  adapter('opencode', [
    '@opencode-ai/sdk',
    'node:child_process',
    'node:crypto',
    'node:fs',
    'node:net',
    'node:path',
    'node:url',
  ]),
  adapter('scripted', ['node:fs', 'node:path']),
  {
    folder: agentHelpers,
    mayImport: [],
    packages: [
      '@parley/protocol',
      '@parley/adapter-kit',
      '@parley/adapter-kit/environment',
      '@parley/adapter-kit/find-program',
      '@parley/adapter-kit/run-program',
      'node:crypto',
      'node:fs',
      'node:path',
    ],
    instead: 'these files install and configure agents. What adapters share belongs in packages/adapter-kit.',
  },
]

export const adapterKitRules: readonly Rule[] = [
  {
    folder: `${adapterKit}/agent-adapter.ts`,
    mayImport: ['adapter-input', 'agent-package', 'ask-again', 'resumption'].map(
      (name) => `${adapterKit}/${name}.ts`,
    ),
    packages: ['@parley/protocol'],
    instead: 'core uses the port, which therefore has no input or output.',
  },
  {
    folder: `${adapterKit}/testing`,
    mayImport: ['agent-adapter', 'json-lines', 'output-queue', 'translation'].map(
      (name) => `${adapterKit}/${name}.ts`,
    ),
    packages: [
      '@parley/protocol',
      'node:child_process',
      'node:fs',
      'node:os',
      'node:path',
      'node:stream',
      'node:timers',
      'node:url',
      'node:util',
    ],
    instead: 'the contract suite of adapters needs no test runner and no server: its setup passes them in.',
  },
  {
    folder: adapterKit,
    mayImport: [],
    packages: [
      '@parley/protocol',
      '@parley/protocol/diff',
      '@modelcontextprotocol/sdk',
      'node:child_process',
      'node:crypto',
      'node:fs',
      'node:http',
      'node:net',
      'node:path',
      'node:stream',
      'node:string_decoder',
    ],
    instead:
      'the kit knows neither the server nor an agent: what only one agent needs belongs in the folder of its adapter.',
  },
]
