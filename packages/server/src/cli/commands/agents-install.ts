import { dirname, resolve } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import { shellWord } from '@parley/adapter-kit/advice'
import { installedVersion } from '@parley/adapter-kit/find-program'
import { errorInfoOf, hasCode, ParleyError } from '@parley/protocol'
import { builtInAdapters } from '../../adapters/index.ts'
import { type Installed, installAgent, packageAt, removeAgent } from '../../adapters/install.ts'
import { unknownAgent } from '../../core/index.ts'
import { agentsFolder, type Flags } from '../configuration.ts'
import { configuredAdapters } from '../configured-adapters.ts'
import { type Context, configurationOf } from '../context.ts'
import { makeDataFolder } from '../data-folder.ts'
import { durationText } from '../durations.ts'
import { exitCodes, failureOf } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { type Progress, startProgress } from '../terminal/progress.ts'
import { oneLine } from '../terminal/visible.ts'

export type InstallOptions = Flags & {
  /** The folder to install into, instead of the agents folder of the data folder. */
  readonly into?: string
  readonly latest?: boolean
  readonly version?: string
  /** Installs the agent's program even if Parley could use another program that is on this machine. */
  readonly withProgram?: boolean
  /** If true, waits until another installation of the same agent has ended. */
  readonly wait?: boolean
  readonly json?: boolean
}

/** Lists the agents for an agents folder. Tests pass another list. */
export type ListAgents = typeof builtInAdapters

const probeMs = 5_000
const retryMs = 250

type Installable = Required<Pick<AgentAdapter, 'id' | 'name' | 'install'>>

export async function installAgents(
  ids: readonly string[],
  options: InstallOptions,
  context: Context,
  list: ListAgents = builtInAdapters,
): Promise<number> {
  const { folder, adapterOf } = await agentsAt(options, context, list)
  const wanted: Installable[] = []
  for (const id of new Set(ids)) {
    const { name, install, probe } = adapterOf(id)
    if (install) {
      wanted.push({ id, name, install })
      continue
    }
    const { found, hint = 'See its documentation.' } = await probe(AbortSignal.timeout(probeMs))
    if (!found) throw new ParleyError('not_supported', `Parley does not install ${name}. ${hint}`)
    context.output.err(`${id} is already installed, but not by Parley, so it was left unchanged.\n`)
  }
  return installEach(wanted, folder, options, context)
}

/** Updates the agents with these ids; without ids, all agents that Parley has installed. */
export async function updateAgents(
  ids: readonly string[],
  options: InstallOptions,
  context: Context,
  list: ListAgents = builtInAdapters,
): Promise<number> {
  const { folder, adapters, adapterOf } = await agentsAt(options, context, list)
  const isInstalled = ({ id, install }: AgentAdapter) =>
    install !== undefined && installedVersion(folder, id, install.package) !== undefined
  const chosen = ids.length > 0 ? ids.map(adapterOf) : adapters.filter(isInstalled)
  if (chosen.length === 0) context.output.err('Parley has installed no agents.\n')
  const wanted = chosen.map((adapter) => {
    const { id, name, install } = adapter
    if (install && isInstalled(adapter)) return { id, name, install }
    const what = install ? ` To install it: ${context.commandLine(`agents install ${id}`)}` : ''
    throw new ParleyError(
      'not_found',
      `Parley has not installed ${id}, so it cannot update this agent.${what}`,
    )
  })
  return installEach(wanted, folder, options, context)
}

export async function removeAgents(
  ids: readonly string[],
  options: InstallOptions,
  context: Context,
  list: ListAgents = builtInAdapters,
): Promise<number> {
  const { folder, adapterOf } = await agentsAt(options, context, list)
  for (const id of ids) adapterOf(id)
  for (const id of ids) {
    if (!(await removeAgent(folder, id))) {
      throw new ParleyError('not_found', `Parley has not installed ${id}, so it cannot remove this agent.`)
    }
    context.output.out(options.json ? `${JSON.stringify({ id, removed: true })}\n` : `${id} removed\n`)
  }
  return exitCodes.completed
}

export async function agentsAt(
  { into, ...flags }: Flags & Pick<InstallOptions, 'into'>,
  context: Context,
  list: ListAgents = builtInAdapters,
) {
  const { dataDir, agents, adapterModules: modules } = configurationOf(context, flags)
  const folder = into === undefined ? agentsFolder(dataDir) : resolve(context.cwd, into)
  const parley = (words: string) =>
    context.commandLine(into === undefined ? words : `${words} --into ${shellWord(into)}`)
  const given = { env: context.env, agentsFolder: folder, agents, parley }
  const { adapters, own } = await configuredAdapters({ given, dataDir, modules, list })
  for (const { error } of own.failures) context.output.err(`parley: ${oneLine(error.message)}\n`)
  function adapterOf(id: string): AgentAdapter {
    const adapter = adapters.find((one) => one.id === id)
    if (adapter) return adapter
    const known = adapters.map((one) => one.id)
    throw unknownAgent(id, known, { isDisabled: agents[id]?.disabled === true })
  }
  return { folder, adapters, own, adapterOf }
}

/** Installs one agent after the other. A failure does not stop the others, but it sets the exit code. */
async function installEach(
  wanted: readonly Installable[],
  folder: string,
  options: InstallOptions,
  context: Context,
): Promise<number> {
  const { output } = context
  if (wanted.length === 0) return exitCodes.completed
  if (options.latest && options.version !== undefined) {
    throw new ParleyError('validation_error', 'Give --latest or --version, not both.')
  }
  if (options.into === undefined) makeDataFolder(dirname(folder))
  const stop = new AbortController()
  using _ = onInterrupt(() => stop.abort())
  let exitCode: number = exitCodes.completed
  for (const agent of wanted) {
    try {
      const began = performance.now()
      const done = await installOne(agent, folder, { options, context, signal: stop.signal })
      printInstalled(agent, done, performance.now() - began, { options, context })
    } catch (thrown) {
      const failure = failureOf(thrown, options.verbose === true)
      if (options.json) output.out(`${JSON.stringify({ id: agent.id, error: errorInfoOf(thrown) })}\n`)
      output.err(`${failure.line}\n`)
      exitCode ||= failure.exitCode
      if (stop.signal.aborted) break
    }
  }
  return exitCode
}

type Installing = { readonly options: InstallOptions; readonly context: Context }

async function installOne(
  { id, install }: Installable,
  folder: string,
  { options, context, signal }: Installing & { readonly signal: AbortSignal },
): Promise<Installed> {
  const { package: name } = install
  const version = options.version ?? (options.latest ? 'latest' : install.version)
  const { withProgram = false } = options
  const request = {
    ...packageAt(install, version),
    agentsFolder: folder,
    agent: id,
    env: context.env,
    signal,
    withProgram,
  }
  let progress: Progress | undefined
  using _ = { [Symbol.dispose]: () => progress?.[Symbol.dispose]() }
  const say = (line: string) => {
    progress ??= startProgress(`installing ${id} (${name} ${version})`, context.output)
    progress.say(line)
  }
  for (;;) {
    try {
      return await installAgent({ ...request, progress: ({ line }) => say(line) })
    } catch (thrown) {
      if (!hasCode(thrown, 'busy') || !options.wait || signal.aborted) throw thrown
      say(thrown.message)
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

function printInstalled(
  { id, install }: Installable,
  done: Installed,
  ms: number,
  { options, context }: Installing,
): void {
  const { output, commandLine } = context
  const { version, changed, replaced, path } = done
  const tested = version === install.version
  if (options.json) return output.out(`${JSON.stringify({ id, tested, ...done })}\n`)
  const instead = replaced === undefined ? '' : ` in place of ${replaced}`
  const words = changed ? `installed${instead} in ${durationText(ms)}: ${path}` : 'is already installed'
  output.out(`${id} ${version} ${words}\n`)
  if (tested) return
  const back = commandLine(`agents update ${id}`)
  output.err(
    `${id} ${version} is not tested with this version of Parley; ${install.version} is. To install the tested version: ${back}\n`,
  )
}
