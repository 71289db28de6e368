import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { ParleyError } from '@parley/protocol'
import { type Configuration, configFile, databaseFile, defaultDataDir, type Flags } from './configuration.ts'
import { type Context, configurationOf } from './context.ts'
import { tokenFile } from './token-file.ts'

/**
 * The configuration of a command that only reads a data folder or changes existing data. Throws if the folder has no
 * data: its path is probably mistyped, and a server would create the folder. The default folder may be missing, because
 * it does not exist before the first use.
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

/**
 * Must be called after the configuration of the folder was read, because a config.json of another program is
 * refused at that point.
 */
function hasData(dataDir: string): boolean {
  return [databaseFile, tokenFile, configFile].some((fileIn) =>
    statSync(fileIn(dataDir), { throwIfNoEntry: false })?.isFile(),
  )
}
