import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { findProgram } from '@parley/adapter-kit/find-program'
import { defined, ParleyError } from '@parley/protocol'
import { version } from '../../version.ts'
import { type Configuration, defaultDataDir, type Flags } from '../configuration.ts'
import { findServer, isFolderHeld } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { installedService, needManager } from '../service/find-manager.ts'
import { installedDefinition, type ServiceManager, writeDefinition } from '../service/service-manager.ts'
import { planService } from '../service/service-plan.ts'
import { printResult } from '../terminal/output.ts'

type InstallOptions = Flags & {
  readonly atBoot?: boolean
  readonly print?: boolean
  readonly env?: readonly string[]
  readonly json?: boolean
}
type StatusOptions = Flags & { readonly json?: boolean }
type LogsOptions = Flags & { readonly lines: string; readonly follow?: boolean; readonly json?: boolean }

const startMs = 30_000
const retryMs = 100

/** Installs the service of the data folder, or replaces it, and waits until its server answers. */
export async function installService(
  options: string[],
  flags: InstallOptions,
  context: Context,
): Promise<number> {
  const { output, commandLine } = context
  const configuration = configurationOf(context, flags)
  const { dataDir } = configuration
  const manager = needManager(configuration, context)
  const before = installedDefinition(manager)
  const plan = planService({
    program: context.program,
    dataDir,
    isDefaultDataDir: dataDir === defaultDataDir(homedir()),
    env: context.env,
    ...(options.length > 0 && { options }),
    ...defined({ names: flags.env, before: before === undefined ? undefined : manager.recordOf(before) }),
  })
  const definition = manager.definition(plan)
  if (flags.print) {
    output.out(definition)
    return 0
  }
  await refuseOtherServer(configuration, manager)
  const isChanged = definition !== before
  if (isChanged) writeDefinition(manager, definition)
  if (isChanged || (await manager.state()).state !== 'running') await manager.start()
  if (flags.atBoot) await manager.keepAtBoot()
  const url = await started(configuration, manager, context)
  const value = { file: manager.file, changed: isChanged, url }
  const lines = [
    `Parley runs at ${url}, and starts ${flags.atBoot ? 'when this machine starts' : 'when you log in'}.`,
    `Sign a browser in: ${commandLine('token --link')}`,
    `State and log: ${commandLine('service status')}, ${commandLine('service logs')}`,
  ]
  return printResult(output, flags.json, { value, text: lines.join('\n') })
}

/** Throws if a server that is not the service uses the data folder, because the service could then not start. */
async function refuseOtherServer(configuration: Configuration, manager: ServiceManager): Promise<void> {
  const { state } = await manager.state()
  if (state === 'running') return
  await using server = await findServer(configuration)
  // A server that does not answer in time still holds the folder.
  if (!server && !(await isFolderHeld(configuration.dataDir))) return
  const at = server ? ` (${server.url})` : ''
  throw new ParleyError(
    'conflict',
    `A server that is not the service uses the data folder ${configuration.dataDir}${at}. Stop it, then install the service.`,
  )
}

async function started(
  configuration: Configuration,
  manager: ServiceManager,
  { commandLine }: Context,
): Promise<string> {
  const until = performance.now() + startMs
  for (;;) {
    await using server = await findServer(configuration).catch(() => undefined)
    if (server) return server.url
    const { state, reason } = await manager.state()
    if (state === 'failed' || state === 'stopped' || performance.now() > until) {
      const why = reason === undefined ? state : `${state} (${reason})`
      throw new ParleyError(
        'internal_error',
        `The service is installed, but its server does not answer: ${why}. See: ${commandLine('service logs')}`,
      )
    }
    await pause(retryMs)
  }
}

/** Prints the state of the service. Exit code 0 only if its server runs and answers. */
export async function serviceStatus(flags: StatusOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  const configuration = configurationOf(context, flags)
  const manager = needManager(configuration, context)
  const { kind, file } = manager
  const found = await installedService(manager)
  if (!found) {
    const text = `No service is installed for ${configuration.dataDir}. Install one: ${commandLine('service install')}`
    printResult(output, flags.json, { value: { installed: false, manager: kind, file }, text })
    return 1
  }
  await using server = await findServer(configuration).catch(() => undefined)
  const { record, state } = found
  const current = record?.version === version
  const value = {
    installed: true,
    manager: kind,
    file,
    ...state,
    current,
    ...(server && { url: server.url }),
  }
  const pid = state.pid === undefined ? '' : ` (pid ${state.pid})`
  const lines = [
    `${state.state}${state.reason === undefined ? '' : `, ${state.reason}`}${pid}`,
    server ? `answers at ${server.url}` : 'its server does not answer',
    state.atBoot
      ? 'starts with this machine'
      : state.enabled
        ? 'starts when you log in'
        : 'does not start by itself',
    `${kind}, defined in ${file}`,
    ...(current
      ? []
      : [`installed by version ${record?.version ?? 'unknown'}; run: ${commandLine('service install')}`]),
  ]
  output.out(flags.json ? `${JSON.stringify(value)}\n` : `${lines.join('\n')}\n`)
  return server && state.state === 'running' ? 0 : 1
}

/** Prints the log of the service with the program that the service manager names. */
export async function serviceLogs(flags: LogsOptions, context: Context): Promise<number> {
  const lines = Number(flags.lines)
  if (!Number.isSafeInteger(lines) || lines < 1)
    throw new ParleyError('validation_error', `--lines takes a number of at least 1, not "${flags.lines}".`)
  const manager = needManager(configurationOf(context, flags), context)
  const [name = '', ...args] = manager.logs({
    lines,
    follow: flags.follow ?? false,
    json: flags.json ?? false,
  })
  const program = findProgram({ name, env: context.env })
  if (program === undefined) throw new ParleyError('not_found', `${name} was not found on the PATH.`)
  const child = spawn(program, args, { env: context.env, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.setEncoding('utf8').on('data', context.output.out)
  child.stderr.setEncoding('utf8').on('data', context.output.err)
  const ended = Promise.withResolvers<number>()
  child.on('error', ended.reject)
  child.on('close', (code) => ended.resolve(code === 0 ? 0 : 1))
  const leave = () => child.kill('SIGTERM')
  context.output.readerLeft.addEventListener('abort', leave)
  return ended.promise
}

/** Stops the service and removes its definition. Sessions, token and configuration stay. */
export async function uninstallService(flags: StatusOptions, context: Context): Promise<number> {
  const configuration = configurationOf(context, flags)
  const manager = needManager(configuration, context)
  const { file } = manager
  const wasInstalled = installedDefinition(manager) !== undefined
  if (wasInstalled) {
    await manager.stop()
    rmSync(file, { force: true })
  }
  const text = wasInstalled
    ? `The service is removed. The data stays in ${configuration.dataDir}.`
    : `No service is installed for ${configuration.dataDir}.`
  return printResult(context.output, flags.json, { value: { removed: wasInstalled, file }, text })
}
