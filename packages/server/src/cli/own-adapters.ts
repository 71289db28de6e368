import { realpathSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { AgentAdapter, CreateAdapter } from '@parley/adapter-kit'
import type { Environment } from '@parley/adapter-kit/environment'
import { expectGuarded } from '@parley/adapter-kit/guarded-file'
import { type AdapterFailure, errorInfoOf, isRecord, messageOf, ParleyError } from '@parley/protocol'
import type { AgentSettings } from '../adapters/agent-settings.ts'
import { adapterOf } from './adapter-shape.ts'
import { type AdapterModule, configFile } from './configuration.ts'
import { findModule } from './find-module.ts'

/** The adapters that come from modules of config.json. */
export type OwnAdapters = {
  readonly adapters: readonly AgentAdapter[]
  readonly failures: readonly AdapterFailure[]
  /** The module of an agent, as config.json names it. */
  moduleOf(agent: string): string | undefined
  /**
   * True if an agent may come from a module. Settings of an unknown agent may belong to a module that was not loaded.
   */
  isElsewhere(agent: string): boolean
  /** Creates the adapter of an agent again, for changed variables. */
  again(agent: string, settings: AgentSettings | undefined): Promise<AgentAdapter>
}

export type OwnAdapterOptions = {
  readonly modules: readonly AdapterModule[]
  readonly dataDir: string
  readonly env: Environment
  /** The settings of agents in config.json. */
  readonly agents: Readonly<Record<string, AgentSettings>>
  /** The ids of the other agents. */
  readonly taken: ReadonlySet<string>
}

type Loaded = {
  readonly module: string
  readonly adapter: AgentAdapter
  create(settings: AgentSettings | undefined): Promise<AgentAdapter>
}

const loadMs = 10_000

/**
 * Loads the modules at the same time. A module that fails is reported in `failures`, and the others are used. The code
 * of a module runs with all rights of this process, so a module that another user can change is not loaded.
 */
export async function loadOwnAdapters(options: OwnAdapterOptions): Promise<OwnAdapters> {
  const { modules, agents, taken } = options
  allowPublishedPackages()
  const results = await Promise.allSettled(modules.map((one) => withTimeLimit(load(one, options))))
  const loaded = new Map<string, Loaded>()
  const failures: AdapterFailure[] = []
  for (const [index, result] of results.entries()) {
    const { module = '' } = modules[index] ?? {}
    try {
      if (result.status === 'rejected') throw result.reason
      const { adapter } = result.value
      expectFree(adapter.id, taken, loaded.get(adapter.id)?.module)
      loaded.set(adapter.id, result.value)
    } catch (thrown) {
      failures.push({ module, error: failureOf(module, thrown) })
    }
  }
  return {
    adapters: [...loaded.values()].map(({ adapter }) => adapter).filter(({ id }) => !agents[id]?.disabled),
    failures,
    moduleOf: (agent) => loaded.get(agent)?.module,
    isElsewhere: (agent) => failures.length > 0 || loaded.has(agent),
    async again(agent, settings) {
      const one = loaded.get(agent)
      if (!one) throw new ParleyError('agent_not_found', `No module of config.json has the agent "${agent}".`)
      return withTimeLimit(one.create(settings)).catch((thrown) => {
        throw ParleyError.from(failureOf(one.module, thrown))
      })
    },
  }
}

async function load(
  { module, options }: AdapterModule,
  { dataDir, env, agents }: OwnAdapterOptions,
): Promise<Loaded> {
  expectGuarded(configFile(dataDir))
  const file = realpathSync(findModule(module, dataDir))
  expectGuarded(file)
  const create = createIn(await import(pathToFileURL(file).href))
  const createWith = async (add: AgentSettings['env']) =>
    adapterOf(await create({ options, env: { ...env, ...add } }))
  const first = await createWith(undefined)
  const again = async (settings: AgentSettings = {}) => {
    expectUsedSettings(first.id, settings)
    const adapter = await createWith(settings.env)
    if (adapter.id === first.id) return adapter
    throw new ParleyError('conflict', `its adapter changes its id from "${first.id}" to "${adapter.id}".`)
  }
  const settings = agents[first.id]
  return { module, adapter: settings ? await again(settings) : first, create: again }
}

/** The function of a module that creates its adapter: an export with this name, or the default export. */
function createIn(module: Readonly<Record<string, unknown>>): CreateAdapter {
  const { default: main } = module
  const create = module.createAdapter ?? (isRecord(main) ? main.createAdapter : main)
  if (typeof create === 'function') return create as CreateAdapter
  throw new ParleyError('validation_error', 'it exports no function "createAdapter" that returns an adapter.')
}

function expectFree(id: string, taken: ReadonlySet<string>, other: string | undefined): void {
  const owner = taken.has(id) ? 'another agent of Parley' : other === undefined ? undefined : `"${other}"`
  if (owner === undefined) return
  const message = `its id "${id}" belongs to ${owner}. Give the adapter another id.`
  throw new ParleyError('conflict', message, { details: { id } })
}

/** Refuses settings that have no effect for the adapter of a module. A program with the same id is a conflict. */
function expectUsedSettings(id: string, settings: AgentSettings): void {
  const { env: _env, disabled: _disabled, ...others } = settings
  const [unused] = Object.keys(others).map((name) => (name === 'executable' ? 'command' : name))
  if (unused === undefined) return
  const message = `agents.${id}.${unused} is set in config.json, which has no effect for the adapter of a module. Use its options.`
  throw new ParleyError('validation_error', message)
}

/** The failure as people read it. It quotes what the module has thrown, because its author needs this. */
function failureOf(module: string, thrown: unknown): AdapterFailure['error'] {
  const isTyped = thrown instanceof ParleyError
  const why = isTyped ? thrown.message : `it failed: ${messageOf(thrown)}`
  const message = `The adapter "${module}" of config.json was not loaded: ${why}`
  if (isTyped) return { ...errorInfoOf(thrown), message }
  return { code: 'agent_failed', message, details: { stack: placesIn(thrown) } }
}

const shownPlaces = 5

/** The first places of the stack that are not in Node itself. */
function placesIn(thrown: unknown): string[] {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const places = stack.split('\n').filter((line) => /^ +at (?!.*\(?node:)/.test(line))
  return places.slice(0, shownPlaces).map((line) => line.trim())
}

async function withTimeLimit<Value>(work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const why = `it did not finish within ${loadMs / 1000} seconds. Its module and "createAdapter" must not wait for the agent.`
  const timer = setTimeout(() => late.reject(new ParleyError('busy', why)), loadMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

let isAllowed = false

/**
 * A checkout runs with the condition `source`, which leads to files that published packages do not contain. If an
 * import fails, it is tried again without this condition.
 */
function allowPublishedPackages(): void {
  if (isAllowed || !process.execArgv.some((flag) => /conditions[= ]source|-C[= ]?source/.test(flag))) return
  isAllowed = true
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (thrown) {
        const conditions = context.conditions.filter((one) => one !== 'source')
        if (conditions.length === context.conditions.length) throw thrown
        return next(specifier, { ...context, conditions })
      }
    },
  })
}
