import { homedir } from 'node:os'
import { ParleyError } from '@parley/protocol'
import { type Configuration, defaultDataDir } from '../configuration.ts'
import type { Context } from '../context.ts'
import { createLaunchd } from './launchd.ts'
import { installedDefinition, type ServiceManager, type ServiceState } from './service-manager.ts'
import { type ServiceRecord, serviceName } from './service-plan.ts'
import { createSystemd } from './systemd.ts'

/**
 * The service manager of this system for the service of a data folder; undefined on a system without a known service
 * manager.
 */
export function findManager(
  { dataDir }: Pick<Configuration, 'dataDir'>,
  { env }: Pick<Context, 'env'>,
  platform: NodeJS.Platform = process.platform,
): ServiceManager | undefined {
  const home = homedir()
  const name = serviceName(dataDir, dataDir === defaultDataDir(home))
  if (platform === 'linux') return createSystemd({ name, home, env })
  return platform === 'darwin' ? createLaunchd({ name, home, env }) : undefined
}

export function needManager(configuration: Configuration, context: Context): ServiceManager {
  const manager = findManager(configuration, context)
  if (manager) return manager
  throw new ParleyError(
    'not_supported',
    'Services are supported with systemd and launchd. docs/operations.md describes other ways to keep a server running.',
  )
}

export type InstalledService = { readonly record: ServiceRecord | undefined; readonly state: ServiceState }

/** The installed service of a data folder and its state; undefined if no service is installed. */
export async function installedService(manager: ServiceManager): Promise<InstalledService | undefined> {
  const definition = installedDefinition(manager)
  if (definition === undefined) return undefined
  return { record: manager.recordOf(definition), state: await manager.state() }
}
