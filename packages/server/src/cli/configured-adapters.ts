import type { AgentAdapter } from '@parley/adapter-kit'
import { type BuiltInAdapterOptions, builtInAdapters } from '../adapters/index.ts'
import type { AdapterModule } from './configuration.ts'
import type { OwnAdapters } from './own-adapters.ts'

export type ConfiguredAdapters = {
  readonly adapters: readonly AgentAdapter[]
  readonly own: OwnAdapters
}

type Options = {
  readonly given: BuiltInAdapterOptions
  readonly dataDir: string
  readonly modules: readonly AdapterModule[] | undefined
  /** Lists the built-in adapters. Tests pass another list. */
  readonly list?: typeof builtInAdapters
}

const none: OwnAdapters = {
  adapters: [],
  failures: [],
  moduleOf: () => undefined,
  isElsewhere: () => false,
  again: async () => {
    throw new Error('config.json names no adapters')
  },
}

/** All agents of the configuration: the built-in ones, and those of the modules that config.json names. */
export async function configuredAdapters(options: Options): Promise<ConfiguredAdapters> {
  const { given, list = builtInAdapters } = options
  const own = await ownAdapters(options)
  const { isElsewhere } = own
  return { adapters: [...list({ ...given, isElsewhere }), ...own.adapters], own }
}

/** The code that loads modules is itself loaded only if there are modules. */
async function ownAdapters({
  given,
  dataDir,
  modules,
  list = builtInAdapters,
}: Options): Promise<OwnAdapters> {
  if (!modules) return none
  const { loadOwnAdapters } = await import('./own-adapters.ts')
  const { env = {}, agents = {} } = given
  const builtIn = list({ env }).map(({ id }) => id)
  const programs = Object.keys(agents).filter((id) => agents[id]?.executable !== undefined)
  return loadOwnAdapters({ modules, dataDir, env, agents, taken: new Set([...builtIn, ...programs]) })
}
