import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentAdapter } from '@parley/adapter-kit'
import { processMarks } from '@parley/adapter-kit/marked-processes'
import { defined, newId } from '@parley/protocol'
import type { Logger } from 'pino'
import { type BuiltInAdapterOptions, builtInAdapters } from '../adapters/index.ts'
import { fileTranscript } from '../adapters/scripted/transcript.ts'
import { createAgentInstaller } from '../agent-installer.ts'
import { type AlertSettings, type Alerts, createAlerts } from '../alerts/index.ts'
import {
  type AgentKeeper,
  bothObservers,
  type Host,
  type HostOptions,
  type Limits,
  type Sealer,
} from '../core/index.ts'
import { createHost } from '../create-host.ts'
import type { ChatDefaults } from '../faces/chat/index.ts'
import { lazyChatFace } from '../faces/chat/lazy.ts'
import type { DecideByLink, DecideFrom } from '../faces/http/authentication.ts'
import { type CommandLine, plainCommandLine } from '../faces/http/command-line.ts'
import type { OidcSettings } from '../faces/http/oidc/settings.ts'
import { urlHost } from '../faces/http/request-source.ts'
import { type HttpServer, type ServeSettings, startServer } from '../faces/http/serve.ts'
import type { Upgrade } from '../faces/sockets.ts'
import { createTerminalFace } from '../faces/terminal/index.ts'
import { createWebSocketFace } from '../faces/websocket/index.ts'
import type { NodeHosts } from '../nodes/index.ts'
import { openSealer } from '../proof/seal-key.ts'
import { createTelemetry, type Telemetry, type TelemetryOptions } from '../telemetry/index.ts'
import { version } from '../version.ts'
import { createFolderChanges } from '../workspace/folder-changes.ts'
import { createWorkspace, type Workspace } from '../workspace/index.ts'
import { createProjectCommands } from '../workspace/project-commands.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import type { ShadowedFolders } from '../workspace/shadowed-folders.ts'
import { createTerminals } from '../workspace/terminals.ts'
import { createWorktrees } from '../workspace/worktrees.ts'
import { createAgentKeeper } from './agent-keeper.ts'
import { type AdapterModule, agentsFolder, configFile } from './configuration.ts'
import { makeDataFolder } from './data-folder.ts'
import { logSteps } from './log-steps.ts'
import type { OpenedStore, StoreOptions } from './open-node.ts'
import { openStore } from './open-store.ts'
import type { OwnAdapters } from './own-adapters.ts'
import { proofOf, randomValue } from './owner.ts'
import type { ReachSettings } from './reach-settings.ts'

/** The built console is inside the package. The path is the same for the published program and for its sources. */
const builtConsole = fileURLToPath(new URL('../../dist/console', import.meta.url))

export type StartOptions = StoreOptions &
  Partial<ReachSettings> & {
    /** 0 picks a free port. */
    readonly port: number
    readonly adapters?: readonly AgentAdapter[]
    /** Settings of agents from the configuration. */
    readonly agents?: BuiltInAdapterOptions['agents']
    /** Modules with further adapters from the configuration. */
    readonly adapterModules?: readonly AdapterModule[]
    readonly limits?: Partial<Limits>
    readonly recover?: HostOptions['recover']
    readonly chat?: ChatDefaults
    readonly alerts?: AlertSettings
    readonly telemetry?: Pick<TelemetryOptions, 'content' | 'openTelemetry'>
    /** The callers that may decide. Default: every caller with the scope `decide`. */
    readonly decideFrom?: DecideFrom
    /** The decisions that decision links may make. Default: `deny`. */
    readonly decideByLink?: DecideByLink
    /** Lets people sign in with an OpenID provider. */
    readonly oidc?: OidcSettings
    readonly allowedOrigins?: readonly string[]
    readonly allowedHosts?: readonly string[]
    /** Formats a command of this program, for messages to signed-in callers. The default is `parley <words>`. */
    readonly commandLine?: CommandLine
    /** Like `commandLine`, but without the data folder, for public messages. */
    readonly publicCommandLine?: CommandLine
  }

export type Parley = {
  readonly host: Host
  /** The host of this process, which passes nothing on to other nodes. */
  readonly ownHost: Host
  /** Whether a shell is open in the session, on this node. */
  hasTerminal(sessionId: string): boolean
  readonly http: HttpServer
  followers(): number
  /** Stops accepting requests, parks or ends running turns, then releases the data folder. */
  close(): Promise<void>
}

/**
 * Starts the whole server: a store, a host on it, and its faces. If it rejects, nothing is left
 * open.
 */
export async function startParley(options: StartOptions): Promise<Parley> {
  const { logger } = options
  makeDataFolder(options.dataDir)
  await using undo = new AsyncDisposableStack()
  const opened = await openStore(options)
  const { store, node } = opened
  undo.defer(() => store.close())
  const folders = createSessionFolder({ env: process.env, root: join(options.dataDir, 'shadows') })
  const workspace = createWorkspace({ env: process.env, folders })
  const telemetry = telemetryOf(options)
  const alerts = alertsOn(store, options, () => http)
  const local = await hostOn(opened, { options, workspace, folders, telemetry, alerts })
  undo.defer(() => local.close())
  undo.defer(async () => node?.close())
  const hosts: Hosts = node?.hostsOn(local) ?? { host: local }
  const { host, peers, otherNodes } = hosts
  const newTerminal = () => newId('trm') + (otherNodes?.suffix() ?? '')
  const terminals = createTerminals({ env: process.env, newId: newTerminal })
  undo.defer(async () => terminals.closeAll())
  host.onSessionChanged(({ change, session }) => change === 'deleted' && terminals.removeOf(session))
  const sockets = createSockets(hosts, logger, alerts.setPresence)
  const terminalFace = createTerminalFace({ terminals, logger, ...peers })
  const chat = chatOf(options)
  const instance = randomUUID()
  const secret = randomValue()
  let ownerUrl = ''
  const http: HttpServer = await startAnnouncing(sockets, {
    consoleFolder: builtConsole,
    workspace,
    terminals,
    terminal: (terminalId, upgrade) => terminalFace.accept(terminalId, upgrade),
    ...servingOptions(options),
    ...{ access: store, decisionLinks: store, viewed: store },
    host,
    ...defined({ peers, otherNodes }),
    version,
    instance,
    prove: (challenge) => proofOf({ secret, instance, url: ownerUrl }, challenge),
    chat,
    metrics: async (now) => {
      const clients = { ...now.clients, websocket: sockets.clients }
      return telemetry.metrics({ ...now, clients }) + ((await node?.metrics()) ?? '')
    },
    ...servedFrom(opened, options.dataDir),
    targets: alerts.targets,
    websocket: sockets.accept,
  })
  ownerUrl = ownerUrlOf(http)
  store.describeOwner({ url: ownerUrl, instance, secret })
  undo.defer(() => http.close())
  undo.defer(() => sockets.close())
  undo.defer(() => chat.close())
  undo.defer(() => alerts.close())
  await node?.join(local, ownerUrl)
  await alerts.start()
  const closing = undo.move()
  return {
    host,
    ownHost: local,
    hasTerminal: (sessionId) => terminals.list(sessionId).length > 0,
    http,
    followers: () => sockets.followers,
    close: once(() => closing.disposeAsync()),
  }
}

type Hosts = Pick<NodeHosts, 'host'> & Partial<Omit<NodeHosts, 'host'>>

/** Creates the WebSocket faces: one for people, and another for nodes, which passes no request on. */
function createSockets({ host, peers }: Hosts, logger: Logger, onPresence: Alerts['setPresence']) {
  const people = createWebSocketFace({ host, logger, version, onPresence })
  const nodes = peers && createWebSocketFace({ ...peers, logger, version })
  let followers = 0
  return {
    get followers() {
      return followers
    },
    get clients() {
      return people.peers
    },
    announce: people.announce,
    accept(upgrade: Upgrade): void {
      if (upgrade.isNode && nodes) return nodes.accept(upgrade)
      followers++
      upgrade.socket.once('close', () => followers--)
      people.accept(upgrade)
    },
    close(): void {
      people.close()
      nodes?.close()
    },
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}

/** The options of the HTTP face that depend on the store: the nodes of a shared database, or snapshots of its own. */
function servedFrom({ node, store }: OpenedStore, dataDir: string) {
  if (node) return { nodes: node.directory }
  const snapshot = async (name: string) => {
    const { takeSnapshot } = await import('./backup/snapshot.ts')
    return takeSnapshot(store, dataDir, name)
  }
  return { snapshot }
}

/** Starts the HTTP server. Whenever a device is signed in, the other devices of the person are notified. */
async function startAnnouncing(
  { announce }: ReturnType<typeof createSockets>,
  settings: ServeSettings,
): Promise<HttpServer> {
  const http = await startServer(settings)
  http.authentication.devices().onAdded((device) => {
    const { deviceId, name, personId } = device
    settings.logger.info({ device: deviceId, name, person: personId }, 'a browser was signed in')
    announce(device)
  })
  return http
}

/**
 * The URL of the owner record, and of a node without `nodeUrl`. A name such as localhost may have several addresses, and another program may listen at
 * one of them, so the URL has the loopback address of the socket instead.
 */
function ownerUrlOf({ url, port, server }: HttpServer): string {
  const { address } = server.address() as AddressInfo
  return address === '127.0.0.1' || address === '::1'
    ? `${new URL(url).protocol}//${urlHost(address)}:${port}`
    : url
}

function chatOf({ chat, logger }: StartOptions) {
  return lazyChatFace(async () => {
    const { createChatFace } = await import('../faces/chat/index.ts')
    return createChatFace({ logger, ...(chat && { defaults: chat }) })
  })
}

function telemetryOf({ telemetry, logger }: StartOptions): Telemetry {
  return createTelemetry({
    ...telemetry,
    problem: (error) => logger.error({ err: error }, 'could not notify a subscriber of telemetry'),
  })
}

/** The alerts of the server. They need its HTTP server only after `start`. */
function alertsOn(
  store: OpenedStore['store'],
  { alerts: settings, logger }: StartOptions,
  http: () => HttpServer,
): Alerts {
  return createAlerts({
    store,
    principalOf: (holder) => http().authentication.principalOf(holder),
    ledgerHead: () => store.lastOfLedger(),
    url: () => http().address.url,
    settings,
    problem: (error, doing) => logger.error({ err: error }, `could not ${doing}`),
  })
}

type HostParts = {
  readonly options: StartOptions
  readonly workspace: Workspace
  readonly folders: ShadowedFolders
  readonly telemetry: Telemetry
  readonly alerts: Alerts
}

async function hostOn(
  { store, ownership, leftovers, searchIndex, node }: OpenedStore,
  { options, workspace, folders, telemetry, alerts }: HostParts,
): Promise<Host> {
  const { dataDir, logger, limits, recover } = options
  const configured = await adaptersOf(options)
  const { adapters } = configured
  return createHost({
    ...configured,
    store,
    searchIndex,
    ...defined({ ownership, leftovers, shared: store.shared }),
    ...(node && { ownerFeed: node.ownerFeed, commandAnywhere: node.commandAnywhere }),
    telemetry,
    observer: bothObservers(
      node ? bothObservers(logSteps(logger), node.observer) : logSteps(logger),
      alerts.observer,
    ),
    commitOf: workspace.commit,
    folderFacts: workspace.facts,
    sessionFolder: folders,
    folderChanges: createFolderChanges({ env: process.env, folders }),
    projectCommands: createProjectCommands({ env: process.env, marks: processMarks }),
    worktrees: createWorktrees({ env: process.env, root: join(dataDir, 'worktrees'), marks: processMarks }),
    agentInstaller: createAgentInstaller({ adapters, folder: agentsFolder(dataDir), env: process.env }),
    limits: { maxSpares: 1, ...limits },
    ...(recover && { recover }),
    sealer: await registeredSealer(store, join(dataDir, 'seal-key.pem')),
    ledger: store,
    problem: ({ error, doing, sessionId }) => logger.error({ err: error, sessionId }, `could not ${doing}`),
  })
}

/** The sealer of this server. Its public key is stored, so that the seals can be verified without this data folder. */
async function registeredSealer(store: OpenedStore['store'], file: string): Promise<Sealer> {
  const { publicKey, ...sealer } = openSealer(file)
  const { keyId } = sealer
  const at = Date.now()
  if (await store.addSealKey({ keyId, publicKey, addedAt: at }))
    await store.queueLedger([{ at, kind: 'key.added', subject: keyId, data: { publicKey } }])
  return sealer
}

function servingOptions({ hostname, port, token, logger, ...rest }: StartOptions) {
  const { allowedOrigins, nodeUrl, publicCommandLine, decideFrom, decideByLink, oidc } = rest
  const { publicUrl, tls, trustedProxies, allowInsecure } = rest
  const allowedHosts = [...(rest.allowedHosts ?? []), ...(nodeUrl ? [new URL(nodeUrl).host] : [])]
  return defined({
    hostname,
    port,
    token,
    logger,
    allowedOrigins,
    allowedHosts,
    ...{ decideFrom, decideByLink, oidc },
    ...{ publicUrl, tls, trustedProxies, allowInsecure },
    commandLine: publicCommandLine,
    ownerName: userInfo().username,
  })
}

/** The adapters. A given list is used unchanged. Without one, people can add and configure agents while the server runs. */
async function adaptersOf(
  options: StartOptions,
): Promise<Pick<HostOptions, 'adapters' | 'adapterFailures' | 'agentKeeper'>> {
  const { adapters, agents, adapterModules: modules, dataDir, logger } = options
  if (adapters) return { adapters }
  const given = { ...adapterOptions(options), ...(agents && { agents }) }
  if (!modules) return { adapters: builtInAdapters(given), agentKeeper: keeperOf(options) }
  const { configuredAdapters } = await import('./configured-adapters.ts')
  const configured = await configuredAdapters({ given, dataDir, modules })
  const { own } = configured
  for (const { id } of own.adapters) logger.info({ agent: id, module: own.moduleOf(id) }, 'loaded an adapter')
  for (const { error } of own.failures) logger.warn({ ...error.details }, error.message)
  const agentKeeper = keeperOf(options, own)
  return { adapters: configured.adapters, adapterFailures: own.failures, agentKeeper }
}

function keeperOf(options: StartOptions, own?: OwnAdapters): AgentKeeper {
  return createAgentKeeper({
    own,
    file: configFile(options.dataDir),
    given: adapterOptions(options),
    commandLine: options.commandLine ?? plainCommandLine,
  })
}

function adapterOptions({ dataDir, commandLine }: StartOptions): Omit<BuiltInAdapterOptions, 'agents'> {
  return {
    env: process.env,
    agentsFolder: agentsFolder(dataDir),
    ...(commandLine && { parley: commandLine }),
    demo: { transcript: fileTranscript(join(dataDir, 'demo')) },
  }
}
