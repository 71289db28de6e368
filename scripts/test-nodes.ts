import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { oldestNodes, testNode, testNodesFolder } from '../tests/e2e/test-nodes.ts'

/**
 * Installs the oldest Node that each package supports, from npm, once per machine. The tests run the packed packages
 * on it.
 */
for (const version of new Set(Object.values(oldestNodes()))) {
  if (existsSync(testNode(version))) continue
  const folder = join(testNodesFolder(), version)
  const making = `${folder}.${process.pid}`
  mkdirSync(making, { recursive: true })
  writeFileSync(join(making, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }')
  execFileSync('npm', ['install', '--no-audit', '--no-fund', `node@${version}`], {
    cwd: making,
    stdio: 'inherit',
  })
  rmSync(folder, { recursive: true, force: true })
  renameSync(making, folder)
}
