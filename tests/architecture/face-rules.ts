import type { Rule } from './rule.ts'
import { server } from './workspace.ts'

const core = `${server}/core/index.ts`
const sessionStorePort = `${server}/core/session-store.ts`
const accessStorePort = `${server}/core/access-store.ts`
const linkStorePort = `${server}/core/decision-link-store.ts`
const viewedStorePort = `${server}/core/viewed-store.ts`
const access = `${server}/access/index.ts`
const sockets = `${server}/faces/sockets.ts`
const otherNodes = `${server}/faces/other-nodes.ts`

const face = (name: string, mayImport: string[], packages: string[]): Rule => ({
  folder: `${server}/faces/${name}`,
  mayImport,
  packages: ['@parley/protocol', ...packages],
  instead:
    'a face uses core/index.ts, the workspace and transcripts, not a store, an adapter, another face or the interior of core. Export from core/index.ts what faces need, or pass it in from embed.ts and the CLI.',
})

/** The imports that the folders of faces may have. */
export const faceRules: readonly Rule[] = [
  face(
    'acp',
    [core, access],
    ['@agentclientprotocol/sdk', '@parley/protocol/diff', 'node:fs', 'node:path', 'node:url', 'zod'],
  ),
  face(
    'chat',
    [core, sessionStorePort, sockets, `${server}/transcripts`, `${server}/workspace`],
    ['node:http', 'pino', 'zod'],
  ),
  face(
    'http',
    [
      core,
      access,
      `${server}/alerts/targets.ts`,
      sessionStorePort,
      accessStorePort,
      linkStorePort,
      viewedStorePort,
      sockets,
      otherNodes,
      `${server}/proof`,
      `${server}/transcripts`,
      `${server}/workspace`,
    ],
    [
      '@hono/node-server',
      'hono',
      'node:crypto',
      'node:events',
      'node:fs',
      'node:http',
      'node:https',
      'node:net',
      'node:os',
      'node:path',
      'node:stream',
      'node:tls',
      'node:util',
      'node:zlib',
      'openid-client',
      'pino',
      'ws',
    ],
  ),
  face('ipc', [core, access, `${server}/transcripts`], ['zod']),
  face('language-model', [core, `${server}/transcripts`], ['@parley/adapter-kit']),
  face('terminal', [sockets, `${server}/workspace`], ['pino', 'ws']),
  face('websocket', [core, access, sockets], ['node:crypto', 'node:stream', 'pino', 'ws']),
]
