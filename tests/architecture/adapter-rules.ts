import type { Rule } from './rule.ts'
import { server } from './workspace.ts'

const agentPort = `${server}/core/agent-adapter.ts`
const leftoversPort = `${server}/core/agent-leftovers.ts`
const agentHelpers = `${server}/adapters/*`
const agentList = `${server}/adapters/index.ts`

const adapter = (name: string, packages: string[]): Rule => ({
  folder: `${server}/adapters/${name}`,
  mayImport: [agentPort, agentHelpers],
  packages: ['@parley/protocol', ...packages],
  instead:
    'an adapter uses its port, the protocol and the helpers beside the agent folders, never another agent or core. Move shared code to adapters/.',
})

/** The imports that the folders of agents may have. */
export const adapterRules: readonly Rule[] = [
  {
    folder: agentList,
    mayImport: [agentPort, agentHelpers, `${server}/adapters`],
    packages: [],
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
    mayImport: [agentPort, leftoversPort],
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
    instead: 'a helper of adapters uses no agent: what only one agent needs belongs in its folder.',
  },
]
