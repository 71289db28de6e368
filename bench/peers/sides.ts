import type { SideInfo } from './side.ts'

const isLibraryServer = 'It is a library: there is no server to start.'
const oneReader = 'Only the program that started the conversation gets its messages.'
const isAgent = 'The server is the agent.'

/** Every side, in the order of the page. Parley is the first of each agent. */
export const sides: readonly SideInfo[] = [
  {
    name: 'parley',
    title: 'Parley',
    agent: 'claude',
    isOurs: true,
    how: 'The program `parley` with its defaults, and clients on its WebSocket. By default it takes a snapshot of the work folder before each turn, and keeps one spare process of Claude Code for the next session, which is part of its memory.',
    cannot: {},
  },
  {
    name: 'sdk',
    title: 'Claude Agent SDK',
    agent: 'claude',
    isLibrary: true,
    how: 'One live `query` for each session, which takes its prompts from a stream: the fastest way to use the SDK. A replay is `getSessionMessages`, which reads the transcript of Claude Code.',
    cannot: { start: isLibraryServer, fanOut: oneReader },
  },
  {
    name: 'claude-agent-acp',
    title: 'claude-agent-acp',
    agent: 'claude',
    packages: 'claude-agent-acp',
    how: 'The program on stdin and stdout, over the Agent Client Protocol. A replay is a second process with `session/load`, because a process has one client.',
    cannot: { fanOut: 'A process has one client, on its stdin and stdout.' },
  },
  {
    name: 'sandbox-agent',
    title: 'sandbox-agent',
    agent: 'claude',
    packages: 'sandbox-agent',
    how: 'Its server, with clients on its HTTP API and server-sent events. It runs claude-agent-acp, without the `npx` that it would use by default.',
    cannot: {},
  },
  {
    name: 'ai-sdk',
    title: 'AI SDK provider',
    agent: 'claude',
    isLibrary: true,
    packages: 'ai-sdk',
    how: 'A `streamText` for each turn, with `resume` from the second turn on. It starts Claude Code for each turn, so there is no agent in its memory between turns.',
    cannot: {
      start: isLibraryServer,
      fanOut: oneReader,
      replay: 'It keeps no conversation: its caller does.',
    },
  },
  {
    name: 'parley-opencode',
    title: 'Parley',
    agent: 'opencode',
    isOurs: true,
    how: 'The program `parley` with its defaults. It starts the server of OpenCode with the first session.',
    cannot: {},
  },
  {
    name: 'opencode',
    title: 'opencode serve',
    agent: 'opencode',
    packages: 'opencode',
    how: 'The server of OpenCode, with clients on its HTTP API and `GET /event`.',
    cannot: { floodProcessorOwn: isAgent, storedOwn: isAgent, sessionOwn: isAgent },
  },
  {
    name: 'parley-qwen',
    title: 'Parley',
    agent: 'qwen',
    isOurs: true,
    how: 'The program `parley` with its defaults, and Qwen Code over the Agent Client Protocol. It starts Qwen Code for each session.',
    cannot: {},
  },
  {
    name: 'qwen',
    title: 'qwen serve',
    agent: 'qwen',
    packages: 'qwen',
    how: 'The server of Qwen Code without its page (`--no-web`), with clients on its HTTP API and server-sent events. It runs Qwen Code in a process of its own, for all sessions of a folder.',
    cannot: {},
  },
]

export const agentTitles = { claude: 'Claude Code', opencode: 'OpenCode', qwen: 'Qwen Code' } as const

/** The packages of the peers, at exact versions. They are installed to be run, and are not dependencies of Parley. */
export const packageSets: readonly PackageSet[] = [
  {
    name: 'claude-agent-acp',
    packages: { '@agentclientprotocol/claude-agent-acp': '0.100.0' },
    withoutPrograms: true,
  },
  { name: 'sandbox-agent', packages: { 'sandbox-agent': '0.4.2' } },
  {
    name: 'ai-sdk',
    packages: { 'ai-sdk-provider-claude-code': '4.1.0', ai: '7.0.169', zod: '4.6.7' },
    withoutPrograms: true,
  },
  { name: 'opencode', packages: { 'opencode-ai': '1.18.33' } },
  { name: 'qwen', packages: { '@qwen-code/qwen-code': '0.24.4' } },
]

export type PackageSet = {
  readonly name: string
  /** Package to version. The first one is the peer. */
  readonly packages: Readonly<Record<string, string>>
  /** Leaves out optional packages: copies of Claude Code, which are not used, because all sides run the same one. */
  readonly withoutPrograms?: true
}
