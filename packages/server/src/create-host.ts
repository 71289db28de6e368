import { bothObservers, createCoreHost, type Host, type HostOptions } from './core/index.ts'
import { systemClock, systemIds } from './system-clock.ts'
import { createTelemetry, type Telemetry } from './telemetry/index.ts'
import { createTemporaryFolders } from './tools/temporary-folders.ts'
import { version } from './version.ts'
import { checkFolder } from './workspace/folder.ts'

type Defaults = 'checkFolder' | 'clock' | 'freeBytes' | 'ids' | 'temporaryFolders'

export type CreateHostOptions = Omit<HostOptions, Defaults> &
  Partial<Pick<HostOptions, Defaults>> & {
    /** Reports events and metrics of the host; see docs/telemetry.md. By default nothing is sent. */
    readonly telemetry?: Telemetry
  }

/** Creates a host on the given adapters and store. */
export async function createHost({ telemetry: given, ...options }: CreateHostOptions): Promise<Host> {
  const problem = (error: unknown) => options.problem?.({ error, doing: 'notify a subscriber of telemetry' })
  const telemetry = given ?? createTelemetry({ problem })
  await telemetry.begin({ agents: options.adapters, version })
  const observer = options.observer ? bothObservers(telemetry.observer, options.observer) : telemetry.observer
  const temporaryFolders = createTemporaryFolders()
  const freeBytes = () => process.availableMemory()
  const defaults = { checkFolder, clock: systemClock, ids: systemIds, temporaryFolders, freeBytes }
  return telemetry.watch(await createCoreHost({ ...defaults, ...options, observer }))
}
