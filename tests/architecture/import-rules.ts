import { adapterRules } from './adapter-rules.ts'
import { faceRules } from './face-rules.ts'
import type { Rule } from './rule.ts'
import { server } from './workspace.ts'

const core = `${server}/core/index.ts`
const agentPort = `${server}/core/agent-adapter.ts`
const sessionStorePort = `${server}/core/session-store.ts`
const ownershipPort = `${server}/core/session-ownership.ts`
const settingsPort = `${server}/core/shared-settings.ts`
const accessStorePort = `${server}/core/access-store.ts`
const alertStorePort = `${server}/core/alert-store.ts`
const searchIndexPort = `${server}/core/search-index.ts`
const ledgerStorePort = `${server}/core/ledger-store.ts`
const handOffPort = `${server}/core/hand-off-writer.ts`
const linkStorePort = `${server}/core/decision-link-store.ts`
const viewedStorePort = `${server}/core/viewed-store.ts`
const access = `${server}/access/index.ts`
const sockets = `${server}/faces/sockets.ts`
const otherNodes = `${server}/faces/other-nodes.ts`
const agentHelpers = `${server}/adapters/*`
const agentList = `${server}/adapters/index.ts`
const agentInstaller = `${server}/agent-installer.ts`

export const serverRules: readonly Rule[] = [
  {
    folder: `${server}/core`,
    mayImport: [],
    packages: ['@parley/protocol', 'node:crypto'],
    instead:
      'core decides and has no input or output. Add a port or an option of createHost, and pass it in from outside.',
  },
  ...adapterRules,
  {
    folder: `${server}/stores/postgres/tls.ts`,
    mayImport: [`${server}/stores/postgres/database-url.ts`],
    packages: ['@parley/protocol', 'node:fs', 'node:net', 'node:os', 'node:path', 'node:tls'],
    instead:
      'this file has the TLS settings of connections to PostgreSQL. It reads certificates, not tables.',
  },
  {
    folder: `${server}/stores`,
    mayImport: [
      sessionStorePort,
      accessStorePort,
      alertStorePort,
      ledgerStorePort,
      linkStorePort,
      viewedStorePort,
      searchIndexPort,
      ownershipPort,
      settingsPort,
    ],
    packages: [
      '@parley/protocol',
      'node:fs',
      'node:path',
      'node:sqlite',
      'node:timers',
      'node:worker_threads',
      'postgres',
    ],
    instead: 'a store uses its ports and the protocol. A decision belongs in core.',
  },
  ...faceRules,
  {
    folder: `${server}/access`,
    mayImport: [core, accessStorePort, linkStorePort],
    packages: ['@parley/protocol', 'node:crypto', 'zod'],
    instead:
      'access decides who may do what, on the interface of core. It has no HTTP: a face passes in what it needs.',
  },
  {
    folder: `${server}/alerts`,
    mayImport: [core, access, sessionStorePort, alertStorePort],
    packages: ['@parley/protocol', 'node:crypto', 'node:dns', 'node:http', 'node:https', 'node:net', 'zod'],
    instead:
      'alerts read logs through the ports of the store, and send requests. Routes and frames belong in a face.',
  },
  {
    folder: `${server}/search`,
    mayImport: [core, sessionStorePort, searchIndexPort],
    packages: ['@parley/protocol'],
    instead: 'search reads logs and writes words through the ports of the stores. Routes belong in a face.',
  },
  {
    folder: `${server}/proof`,
    mayImport: [core],
    packages: ['@parley/protocol', 'node:crypto', 'node:fs'],
    instead: 'proof signs and verifies logs. It works without a server and a store: pass in what it needs.',
  },
  {
    folder: sockets,
    mayImport: [access],
    packages: ['node:http', 'node:stream'],
    instead: 'this file has what faces share about sockets, and nothing that belongs to only one face.',
  },
  {
    folder: otherNodes,
    mayImport: [sockets],
    packages: ['@parley/protocol', 'node:http'],
    instead: 'this file has what faces need of the other nodes, which are passed in.',
  },
  {
    folder: `${server}/nodes`,
    mayImport: [
      core,
      otherNodes,
      sockets,
      `${server}/stores/postgres/ownership.ts`,
      `${server}/telemetry/metrics.ts`,
    ],
    packages: [
      '@parley/client',
      '@parley/protocol',
      'node:crypto',
      'node:http',
      'node:https',
      'node:stream',
      'node:timers',
      'ws',
    ],
    instead:
      'nodes connect hosts through the interface of core and the protocol. SQL belongs in stores/postgres.',
  },
  {
    folder: `${server}/transcripts`,
    mayImport: [handOffPort],
    packages: ['@parley/protocol', '@parley/protocol/diff', 'marked', 'node:crypto', 'node:util'],
    instead: 'transcripts are pure functions of events. What reads or sends belongs in a face.',
  },
  {
    folder: `${server}/tools`,
    mayImport: [core, agentPort],
    packages: ['@parley/protocol', 'node:fs', 'node:os', 'node:path', 'zod'],
    instead: 'tools use the protocol and the interface of core.',
  },
  {
    folder: `${server}/workspace`,
    mayImport: [
      `${server}/core/session-folder.ts`,
      `${server}/core/folder-changes.ts`,
      `${server}/core/worktrees.ts`,
      `${server}/core/project-commands.ts`,
    ],
    packages: [
      '@parley/protocol',
      '@lydell/node-pty',
      '@xterm/addon-serialize',
      '@xterm/headless',
      'node:child_process',
      'node:crypto',
      'node:fs',
      'node:os',
      'node:path',
      'node:timers',
    ],
    instead: 'the workspace knows folders, not sessions: pass in what it needs.',
  },
  {
    folder: `${server}/telemetry`,
    mayImport: [core],
    packages: ['@parley/protocol', '@opentelemetry/api', 'node:diagnostics_channel'],
    instead: 'telemetry observes the host and publishes; it sends nothing itself.',
  },
  {
    folder: `${server}/cli`,
    mayImport: [
      core,
      agentPort,
      agentList,
      agentHelpers,
      agentInstaller,
      `${server}/adapters/scripted/transcript.ts`,
      `${server}/alerts`,
      `${server}/nodes`,
      `${server}/proof`,
      `${server}/stores`,
      `${server}/faces`,
      `${server}/transcripts`,
      `${server}/workspace`,
      `${server}/telemetry`,
      `${server}/create-host.ts`,
      `${server}/system-clock.ts`,
      `${server}/version.ts`,
    ],
    packages: [
      '@parley/client',
      '@parley/protocol',
      '@agentclientprotocol/sdk',
      'commander',
      'node:child_process',
      'node:console',
      'node:crypto',
      'node:fs',
      'node:https',
      'node:net',
      'node:os',
      'node:path',
      'node:readline',
      'node:sqlite',
      'node:stream',
      'node:timers',
      'node:url',
      'node:util',
      'node:v8',
      'node:vm',
      'node:zlib',
      'pino',
      'uqr',
      'ws',
      'zod',
    ],
    instead:
      'the CLI composes the server: it uses the interface of core and the list of agents, not an agent.',
  },
  {
    folder: `${server}/testing`,
    mayImport: [
      core,
      agentPort,
      sessionStorePort,
      ownershipPort,
      accessStorePort,
      alertStorePort,
      ledgerStorePort,
      linkStorePort,
      viewedStorePort,
      searchIndexPort,
      agentList,
      agentHelpers,
      `${server}/adapters/scripted`,
      `${server}/stores`,
      `${server}/tools`,
      `${server}/workspace/session-folder.ts`,
      `${server}/workspace/worktrees.ts`,
      `${server}/index.ts`,
    ],
    packages: [
      '@parley/protocol',
      '@copilotkit/aimock',
      '@modelcontextprotocol/sdk',
      'fast-check',
      'node:child_process',
      'node:fs',
      'node:http',
      'node:os',
      'node:net',
      'node:path',
      'node:timers',
      'vitest',
      'zod',
    ],
    instead: 'the contract suites use the library and the scripted agent, not the client, a face or the CLI.',
  },
  {
    folder: `${server}/adapter.ts`,
    mayImport: [agentHelpers, `${server}/adapters/acp/index.ts`],
    packages: [],
    instead: 'the entry point for authors of adapters only exports helpers of adapters.',
  },
  {
    folder: `${server}/embed.ts`,
    mayImport: [
      core,
      sessionStorePort,
      alertStorePort,
      `${server}/alerts/index.ts`,
      `${server}/embedded-features.ts`,
      `${server}/faces/chat/index.ts`,
      `${server}/faces/http/http-face.ts`,
      `${server}/faces/http/public-address.ts`,
      `${server}/faces/websocket/index.ts`,
      `${server}/telemetry/index.ts`,
      `${server}/version.ts`,
    ],
    packages: ['@parley/protocol', 'node:http', 'node:stream', 'node:url', 'pino'],
    instead: 'embed mounts faces on a host that it is given. The embedding program does the rest.',
  },
  {
    folder: `${server}/embedded-features.ts`,
    mayImport: [
      core,
      sessionStorePort,
      alertStorePort,
      sockets,
      `${server}/alerts/index.ts`,
      `${server}/faces/http/authentication.ts`,
      `${server}/faces/terminal/index.ts`,
      `${server}/workspace/terminals.ts`,
    ],
    packages: ['@parley/protocol', 'pino'],
    instead: 'this file has what an embedding program can add to the faces of embed.ts.',
  },
  {
    folder: agentInstaller,
    mayImport: [core, agentPort, agentHelpers],
    packages: [],
    instead: 'this file installs the agents that it is given, and uses no other part of the server.',
  },
  {
    folder: `${server}/create-host.ts`,
    mayImport: [
      core,
      searchIndexPort,
      `${server}/search/index.ts`,
      `${server}/system-clock.ts`,
      `${server}/telemetry/index.ts`,
      `${server}/tools/temporary-folders.ts`,
      `${server}/transcripts/hand-off/index.ts`,
      `${server}/version.ts`,
      `${server}/workspace/folder.ts`,
    ],
    packages: [],
    instead: 'createHost composes core with what every host needs.',
  },
  {
    folder: `${server}/system-clock.ts`,
    mayImport: [core],
    packages: ['@parley/protocol'],
    instead: 'the clock of the machine implements the clock of core, and nothing else.',
  },
  {
    folder: `${server}/version.ts`,
    mayImport: [],
    packages: ['node:fs'],
    instead: 'the version is read from package.json.',
  },
  {
    folder: `${server}/index.ts`,
    mayImport: [
      access,
      core,
      agentPort,
      sessionStorePort,
      accessStorePort,
      linkStorePort,
      viewedStorePort,
      agentList,
      agentHelpers,
      agentInstaller,
      alertStorePort,
      searchIndexPort,
      `${server}/adapters/acp/index.ts`,
      `${server}/create-host.ts`,
      `${server}/stores`,
      `${server}/telemetry/index.ts`,
      `${server}/tools`,
      `${server}/transcripts`,
    ],
    packages: ['@parley/protocol'],
    instead: 'the entry point of the library only exports.',
  },
]
