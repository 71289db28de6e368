import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The Node versions that tests run the packages on; `scripts/test-nodes.ts` installs them. */

const packages = ['protocol', 'client', 'server'] as const
type PackageName = (typeof packages)[number]

/** The oldest Node that each package supports, according to its `engines`. */
export function oldestNodes(): Record<PackageName, string> {
  return Object.fromEntries(packages.map((name) => [name, oldestNode(name)])) as Record<PackageName, string>
}

function oldestNode(name: PackageName): string {
  const file = join(import.meta.dirname, '../../packages', name, 'package.json')
  const { engines } = JSON.parse(readFileSync(file, 'utf8')) as { engines: { node: string } }
  const [major, minor = '0', patch = '0'] = engines.node.replace(/^>=/, '').split('.')
  return `${major}.${minor}.${patch}`
}

export function testNodesFolder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  return process.env.PARLEY_TEST_NODES ?? join(cache, 'parley', 'nodes')
}

export function testNode(version: string): string {
  return join(testNodesFolder(), version, 'node_modules/node/bin/node')
}
