import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The maximum number of entries: about twenty test runs add so many, and they take about 150 MB. */
const mostEntries = 20_000

/**
 * The folder of the compile cache for workers, and for the programs that tests start: their code is compiled once, and
 * not with every start. Node never removes an entry, and every run adds entries for its test files and temporary
 * folders, so a folder with too many entries is emptied first.
 */
export function compileCacheFolder(root: string, most = mostEntries): string {
  const folder = join(root, 'node_modules/.cache/node-compile')
  if (existsSync(folder) && readdirSync(folder, { recursive: true }).length > most)
    rmSync(folder, { recursive: true, force: true })
  return folder
}
