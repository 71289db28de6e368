import { version } from './cli/version.ts'
import { createCoreHost, type Host, type HostOptions } from './core/host.ts'
import { bothObservers } from './core/host-observer.ts'
import { createTelemetry, type Telemetry } from './telemetry/index.ts'
import { createTemporaryFolders } from './tools/temporary-folders.ts'
import { checkFolder } from './workspace/folder.ts'

export type CreateHostOptions = Omit<HostOptions, 'checkFolder' | 'temporaryFolders'> &
  Partial<Pick<HostOptions, 'checkFolder' | 'temporaryFolders'>> & {
    /** What the host tells of itself, and to whom; see docs/telemetry.md. Without it, the usual: nothing is sent. */
    readonly telemetry?: Telemetry
  }

/** The library: a host on the adapters and the store given to it. */
export async function createHost({ telemetry: given, ...options }: CreateHostOptions): Promise<Host> {
  const problem = (error: unknown) => options.problem?.({ error, doing: 'tell a subscriber of telemetry' })
  const telemetry = given ?? createTelemetry({ problem })
  await telemetry.begin({ agents: options.adapters, version })
  const observer = options.observer ? bothObservers(telemetry.observer, options.observer) : telemetry.observer
  const temporaryFolders = createTemporaryFolders()
  return telemetry.watch(await createCoreHost({ checkFolder, temporaryFolders, ...options, observer }))
}
