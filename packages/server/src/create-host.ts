import {
  bothObservers,
  createCoreHost,
  type Host,
  type HostOptions,
  type WriteHandOff,
} from './core/index.ts'
import type { SearchIndex } from './core/search-index.ts'
import { createTextSearch, type TextSearch } from './search/index.ts'
import { systemClock, systemIds } from './system-clock.ts'
import { createTelemetry, type Telemetry } from './telemetry/index.ts'
import { createTemporaryFolders } from './tools/temporary-folders.ts'
import { version } from './version.ts'
import { branchOf, checkFolder, projectOf } from './workspace/folder.ts'

type Defaults = 'checkFolder' | 'clock' | 'freeBytes' | 'ids' | 'temporaryFolders'

export type CreateHostOptions = Omit<HostOptions, Defaults | 'search' | 'writeHandOff'> &
  Partial<Pick<HostOptions, Defaults>> & {
    /** Reports events and metrics of the host; see docs/telemetry.md. By default nothing is sent. */
    readonly telemetry?: Telemetry
    /** Opens the index with which the text of sessions is searched. Without it, nobody can search. */
    readonly searchIndex?: () => Promise<SearchIndex>
  }

/** Creates a host on the given adapters and store. */
export async function createHost(given: CreateHostOptions): Promise<Host> {
  const { telemetry: givenTelemetry, searchIndex: openIndex, ...options } = given
  const problem = (error: unknown) => options.problem?.({ error, doing: 'notify a subscriber of telemetry' })
  const telemetry = givenTelemetry ?? createTelemetry({ problem })
  await telemetry.begin({ agents: options.adapters, version })
  const temporaryFolders = createTemporaryFolders()
  const freeBytes = () => process.availableMemory()
  const folders = { checkFolder, projectOf, branchOf }
  const defaults = { ...folders, clock: systemClock, ids: systemIds, temporaryFolders, freeBytes }
  const search = openIndex && textSearch(options, openIndex)
  const observers = [telemetry.observer, search?.observer, options.observer].filter(
    (one) => one !== undefined,
  )
  const host = await createCoreHost({
    ...defaults,
    ...options,
    writeHandOff,
    ...(search && { search: search.search }),
    observer: observers.reduce(bothObservers),
  })
  search?.start(host)
  const close = async () => {
    await host.close()
    await search?.close()
  }
  return telemetry.watch({ ...host, close })
}

const writeHandOff: WriteHandOff = async (events, options) => {
  const { handOff } = await import('./transcripts/hand-off/index.ts')
  return handOff(events, options)
}

function textSearch(
  { store, clock = systemClock, problem }: CreateHostOptions,
  openIndex: () => Promise<SearchIndex>,
): TextSearch {
  return createTextSearch({ store, openIndex, clock, problem: (error, doing) => problem?.({ error, doing }) })
}
