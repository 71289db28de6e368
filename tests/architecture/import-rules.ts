import { server } from './workspace.ts'

/**
 * Which folder may import which. Each rule names a folder by its path prefix, the folders of this repository that it may
 * import, and what to do instead of any other import. The first rule that matches a file applies.
 */
export type Rule = { room: string; mayImport: string[]; packages?: string[]; instead: string }

export const rules: Rule[] = [
  {
    room: 'packages/protocol/src/diff.ts',
    mayImport: ['packages/protocol/src'],
    packages: ['diff'],
    instead: 'the reader of diffs knows the package diff and the protocol.',
  },
  {
    room: 'packages/protocol/src',
    mayImport: ['packages/protocol/src'],
    packages: ['zod'],
    instead:
      'protocol is what crosses the wire: it knows nothing of ours and only zod. Move the code to the side that needs it.',
  },
  {
    room: `${server}/core`,
    mayImport: ['packages/protocol/src', `${server}/core`],
    packages: ['node:crypto'],
    instead:
      'core decides and touches nothing outside. Add a port or a dependency of createHost and pass it in.',
  },
  {
    room: `${server}/adapters/index.ts`,
    mayImport: [`${server}/core/agent-adapter.ts`, `${server}/adapters`],
    instead: 'the list of agents only lists.',
  },
  {
    room: `${server}/adapters`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core/agent-adapter.ts`,
      '(own folder)',
      '(helper beside)',
    ],
    instead:
      'an adapter knows its port, the protocol and the helpers beside the agent folders, never another agent or core.',
  },
  {
    room: `${server}/stores`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core/session-store.ts`,
      `${server}/core/device-store.ts`,
      `${server}/stores`,
    ],
    instead: 'a store knows its port and the protocol. What needs more is a decision: it belongs in core.',
  },
  {
    room: `${server}/faces`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core`,
      `${server}/workspace`,
      `${server}/transcripts`,
      '(own folder)',
    ],
    instead: 'a face speaks for core. It sees no store, no adapter and no other face.',
  },
  {
    room: `${server}/transcripts`,
    mayImport: ['packages/protocol/src', `${server}/transcripts`],
    packages: ['marked', 'node:crypto', 'node:util'],
    instead: 'transcripts are pure functions: events in, text or messages out. What needs more is a face.',
  },
  {
    room: `${server}/tools`,
    mayImport: ['packages/protocol/src', `${server}/core`, `${server}/tools`],
    instead: 'tools see protocol and core.',
  },
  {
    room: `${server}/workspace`,
    mayImport: ['packages/protocol/src', `${server}/core`, `${server}/workspace`],
    instead: 'workspace sees protocol and core.',
  },
  {
    room: `${server}/telemetry`,
    mayImport: ['packages/protocol/src', `${server}/core`, `${server}/telemetry`],
    packages: ['node:diagnostics_channel', '@opentelemetry/api'],
    instead: 'telemetry hears what core tells and sends nothing. What needs more is a face.',
  },
  {
    room: `${server}/cli`,
    mayImport: ['packages/protocol/src', 'packages/client/src', server],
    instead: 'the CLI may see all of the server and the client.',
  },
  {
    room: `${server}/testing`,
    mayImport: ['packages/protocol/src', server],
    instead: 'the contract suites see the server, not the client and not the CLI.',
  },
  {
    room: `${server}/adapter.ts`,
    mayImport: [`${server}/adapters`],
    instead: 'the door for authors of adapters only exports what adapters are made with.',
  },
  {
    room: `${server}/embed.ts`,
    mayImport: [
      'packages/protocol/src',
      `${server}/core`,
      `${server}/faces`,
      `${server}/telemetry`,
      `${server}/cli/version.ts`,
    ],
    instead: "embedding puts faces on a host that it is given; whatever else is the embedding program's.",
  },
  {
    room: `${server}/create-host.ts`,
    mayImport: [
      `${server}/core`,
      `${server}/workspace`,
      `${server}/tools`,
      `${server}/telemetry`,
      `${server}/cli/version.ts`,
    ],
    instead: 'createHost composes core with what every host needs.',
  },
  {
    room: `${server}/index.ts`,
    mayImport: [
      'packages/protocol/src',
      `${server}/create-host.ts`,
      `${server}/core`,
      `${server}/workspace`,
      `${server}/transcripts`,
      `${server}/stores`,
      `${server}/tools`,
      `${server}/adapters`,
      `${server}/telemetry`,
    ],
    instead: 'the entry point of the library only exports.',
  },
  {
    room: 'packages/client/src',
    mayImport: ['packages/protocol/src', 'packages/client/src'],
    packages: ['react'],
    instead: 'the client runs in browsers: only the protocol, and React in react.ts.',
  },
]
