import { readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { ParleyError } from '@parley/protocol'
import { type Configuration, defaultDataDir, type Flags } from './configuration.ts'
import { type Context, configurationOf } from './context.ts'
import { ownFiles } from './data-folder.ts'

/**
 * The configuration of a command that adds nothing to the data folder. Throws if the folder has no data, because its
 * path is probably mistyped, and a server would create it. The default folder may be missing: nothing was stored yet.
 */
export function existingConfigurationOf(context: Context, flags: Flags): Configuration {
  const configuration = configurationOf(context, flags)
  const { dataDir } = configuration
  if (dataDir === defaultDataDir(homedir()) || hasData(dataDir)) return configuration
  throw new ParleyError(
    'validation_error',
    `There is no Parley data in ${dataDir}. Check the path (--data-dir or PARLEY_DATA_DIR). To create the folder, start a server: ${context.commandLine('serve')}`,
  )
}

function hasData(dataDir: string): boolean {
  const isFolder = statSync(dataDir, { throwIfNoEntry: false })?.isDirectory() ?? false
  return isFolder && readdirSync(dataDir).some((name) => ownFiles.test(name))
}
