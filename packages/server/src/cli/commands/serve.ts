import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Logger } from 'pino'
import { assertBindable, isLoopback } from '../../faces/http/authentication.ts'
import { type Bound, createRequestSource, remoteUrls } from '../../faces/http/request-source.ts'
import { systemClock } from '../../system-clock.ts'
import { version } from '../../version.ts'
import { createCommandLine } from '../command-line.ts'
import { isConfigExposed } from '../config-file.ts'
import { type Configuration, configFile, type Flags } from '../configuration.ts'
import { type Context, configurationOf } from '../context.ts'
import { isDataFolderOpen } from '../data-folder.ts'
import { visibleDatabaseUrlWarning, visibleTokenWarning } from '../definitions/registry.ts'
import { createLogger } from '../log.ts'
import { type Parley, startParley } from '../start.ts'
import { isTokenExposed, machineTokenOf, tokenFile } from '../token-file.ts'

export type ServeOptions = Flags & { readonly json?: boolean; readonly quiet?: boolean }

/** Runs the server until a signal stops it. When it is ready, the last line on stdout is the link. */
export async function serve(options: ServeOptions, context: Context): Promise<number> {
  const { output } = context
  const configuration = configurationOf(context, options)
  const { dataDir, host, port, allowedOrigins, allowedHosts } = configuration
  assertBindable({
    hostname: host,
    tokenExplicit: configuration.token !== undefined,
    allowRemote: configuration.allowRemote,
  })
  createRequestSource({ bound: () => ({ hostname: host, port }), allowedOrigins, allowedHosts })
  const token = machineTokenOf(configuration)
  // The variables are removed, so that no program that the server starts inherits them.
  for (const name of ['PARLEY_TOKEN', 'PARLEY_TOKEN_FILE', 'PARLEY_DATABASE_URL']) delete process.env[name]
  const logger = createLogger(configuration.logLevel ?? 'info', output)

  const stopped = stopSignal()
  const parley = await startParley({
    ...configuration,
    hostname: host,
    token,
    logger,
    commandLine: context.commandLine,
    publicCommandLine: createCommandLine({ invocation: context.invocation }),
  })
  if (options.token !== undefined) logger.warn(visibleTokenWarning)
  if (options.databaseUrl !== undefined) logger.warn(visibleDatabaseUrlWarning)
  if (isConfigExposed(configFile(dataDir)))
    logger.warn(`other users can read the secrets in ${configFile(dataDir)}; run chmod 600 on it`)
  if (isDataFolderOpen(dataDir)) logger.warn(`other users can read ${dataDir}; run: chmod 700 ${dataDir}`)
  if (!configuration.token && isTokenExposed(dataDir)) {
    logger.warn(`other users can read ${tokenFile(dataDir)}; run chmod 600 on it`)
  }
  warnOfReach(parley, configuration, logger)
  const { publicUrl } = configuration
  const { url } = parley.http
  // A service writes its output to the log of the system, which must not contain a link or a token.
  if (options.quiet) logger.info({ url, publicUrl, version }, 'listening')
  else if (options.json) output.out(`${JSON.stringify({ url, publicUrl, token, pid: process.pid })}\n`)
  else output.out(greeting(parley, configuration, context))
  // Without this call, a server that is killed stores no compiled code, and its next start takes twice the time.
  flushCompileCache()
  collectGarbageSoon()
  const retention = await startRetention(configuration, parley, logger)
  const stopKeeping = keepWorktrees(parley, logger)
  const signal = await stopped
  logger.info({ signal }, 'stopping')
  stopKeeping()
  await retention?.stop()
  await parley.close()
  return 0
}

async function startRetention({ retention: times }: Configuration, parley: Parley, logger: Logger) {
  if (!times) return undefined
  const { Retention } = await import('../retention.ts')
  return new Retention({
    host: parley.ownHost,
    times,
    isUsed: parley.hasTerminal,
    logger,
    clock: systemClock,
  })
}

const firstSweepMs = 90_000
const sweepMs = 3_600_000

/** Removes unused worktrees from time to time. Returns a function that stops the removals. */
function keepWorktrees({ ownHost: host, hasTerminal: isUsed }: Parley, logger: Logger): () => void {
  let isStopped = false
  let cancel = later(firstSweepMs)
  function later(ms: number): () => void {
    return systemClock.after(ms, () => void sweep(), { background: true })
  }
  async function sweep(): Promise<void> {
    // The code is loaded on first use.
    const { sweepWorktrees } = await import('../keep-worktrees.ts')
    await sweepWorktrees({ host, isUsed, logger, clock: systemClock }, () => isStopped)
    if (!isStopped) cancel = later(sweepMs)
  }
  return () => {
    isStopped = true
    cancel()
  }
}

/** Warns of settings that make signed-in browsers less secure. */
function warnOfReach({ http }: Parley, { publicUrl, allowInsecure }: Configuration, logger: Logger): void {
  if (http.address.basePath !== '/') {
    logger.warn(
      `other pages of ${new URL(publicUrl ?? http.url).origin} can act as the browsers that sign in here, because browsers do not separate the paths of a host; give Parley a host name of its own`,
    )
  }
  if (allowInsecure)
    logger.warn(
      'browsers may sign in over plain HTTP: anybody who can read the network traffic can act as them',
    )
}

function greeting(
  { http }: Parley,
  { host, dataDir, publicUrl, tls }: Configuration,
  context: Context,
): string {
  const { output, commandLine } = context
  const { bold, dim } = output.outStyle
  return [
    `${bold(`Parley ${version}`)} runs at ${http.url}`,
    ...(publicUrl === undefined ? [] : [`${dim('public')} ${publicUrl}`]),
    ...(isLoopback(host)
      ? []
      : remoteLines({ hostname: host, port: http.port, isSecure: tls !== undefined }, context)),
    `${dim('data')}  ${dataDir}`,
    `${dim('stop')}  Ctrl-C`,
    `${dim('phone')} ${commandLine('pair')}   ${dim('(in another terminal)')}`,
    `${dim('try')}   ${commandLine('run demo "help"')}   ${dim('(in another terminal)')}`,
    'This link signs a browser in, once:',
    http.link(),
    '',
  ].join('\n')
}

function remoteLines(bound: Bound, { output }: Context): string[] {
  const { yellow } = output.outStyle
  const urls = remoteUrls(bound)
  return [
    yellow(`The server can be reached from other machines${urls.length > 0 ? ', at' : '.'}`),
    ...urls.map((url) => `  ${url}`),
    yellow(
      `Anybody who has the token can run commands here as you${bound.isSecure ? '.' : ', and connections are not encrypted.'}`,
    ),
  ]
}

const startedMs = 500

/**
 * Runs one full garbage collection after the start, to free memory: loading code enlarges the young generation of
 * the heap, and V8 would not shrink it.
 */
function collectGarbageSoon(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as (options: Record<string, string>) => void
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, startedMs).unref()
}

/** The first signal asks to stop; the second ends the program at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let asked = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (asked) process.exit(1)
      asked = true
      resolve(signal)
    })
  }
  return promise
}
