import type { Rule } from './rule.ts'
import { client, examples, protocol } from './workspace.ts'

export const packageRules: readonly Rule[] = [
  {
    folder: `${protocol}/diff.ts`,
    mayImport: [protocol],
    packages: ['diff'],
    instead: 'the reader of diffs uses the package diff and the protocol.',
  },
  {
    folder: protocol,
    mayImport: [],
    packages: ['zod'],
    instead:
      'the protocol runs in browsers and uses only zod. Move the code to the client or the server, whichever needs it.',
  },
  {
    folder: `${client}/react.ts`,
    mayImport: [client],
    packages: ['@parley/protocol', 'react'],
    instead: 'the hooks use React and the client.',
  },
  {
    folder: client,
    mayImport: [],
    packages: ['@parley/protocol'],
    instead: 'the client runs in browsers and uses only the protocol. React belongs in react.ts.',
  },
  {
    folder: examples,
    mayImport: [],
    packages: [
      '@parley/protocol',
      '@parley/server',
      '@parley/server/embed',
      '@parley/server/language-model',
      '@parley/server/testing',
      '@hono/node-server',
      '@opentelemetry/api',
      '@opentelemetry/sdk-trace',
      'ai6',
      'hono',
      'node:diagnostics_channel',
      'node:events',
      'node:fs',
      'node:http',
      'node:module',
      'node:net',
      'node:os',
      'node:path',
      'zod',
    ],
    instead: 'an example uses only what a program outside this repository can use.',
  },
]
