import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findNpm, runNpm } from '../../packages/server/src/adapters/npm.ts'
import type { Version } from './results.ts'
import type { PackageSet } from './sides.ts'

/** The folder in which peers are installed, once per machine and outside the checkout. */
export function peersFolder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  return process.env.PARLEY_BENCH_PEERS ?? join(cache, 'parley', 'peers')
}

/**
 * Installs the packages of a peer, unless they are there at these versions, and returns their folder. Install scripts
 * are not run. An installation that fails leaves the previous one unchanged.
 */
export async function installPeer(set: PackageSet, say: (line: string) => void): Promise<string> {
  const folder = join(peersFolder(), set.name)
  if (versionsIn(folder, set).every(({ version, name }) => version === set.packages[name])) return folder
  say(
    `installing ${Object.entries(set.packages)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
  )
  const staging = `${folder}.new-${process.pid}`
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { recursive: true })
  writeFileSync(join(staging, 'package.json'), '{"private":true}\n')
  const names = Object.entries(set.packages).map(([name, version]) => `${name}@${version}`)
  const args = ['install', '--save-exact', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund']
  const [first = ['', '']] = Object.entries(set.packages)
  try {
    await runNpm(
      await findNpm(process.env),
      [...args, ...(set.withoutPrograms ? ['--omit=optional'] : []), ...names],
      { cwd: staging, package: first[0], version: first[1], onLine: everyFewSeconds(say) },
    )
    rmSync(folder, { recursive: true, force: true })
    renameSync(staging, folder)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return folder
}

/** Passes on the first line in every two seconds. */
function everyFewSeconds(say: (line: string) => void): (line: string) => void {
  let last = performance.now()
  return (line) => {
    if (performance.now() - last < 2_000) return
    last = performance.now()
    say(line)
  }
}

/** The installed packages of a peer, with the licence that each states. */
export function versionsIn(folder: string, { packages }: PackageSet): Version[] {
  return Object.keys(packages).map((name) => {
    const file = join(folder, 'node_modules', name, 'package.json')
    if (!existsSync(file)) return { name, version: '', licence: '' }
    const { version, license } = JSON.parse(readFileSync(file, 'utf8')) as {
      version: string
      license?: string
    }
    return { name, version, licence: license ?? licenceIn(join(file, '../LICENSE')) }
  })
}

function licenceIn(file: string): string {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return /Apache License\s+Version 2\.0/.test(text) ? 'Apache-2.0' : 'not stated'
}
