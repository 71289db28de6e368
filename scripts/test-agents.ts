import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { testAgents, testAgentsFolder } from '../packages/server/src/testing/agents-folder.ts'

/**
 * Installs the agents that tests use, or the agents given as arguments, with Parley's own install command. Agents that
 * have the right version are skipped, so only the first run takes time.
 */
const named = process.argv.slice(2)
const ids = named.length > 0 ? named : testAgents
if (ids.length > 0) {
  const program = join(import.meta.dirname, '../packages/server/bin/parley.js')
  const folder = testAgentsFolder()
  const where = ['--into', folder, '--data-dir', folder, '--wait']
  const args = ['--conditions=source', program, 'agents', 'install', ...ids, ...where]
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
}
