import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { builtInAdapters } from '../packages/server/src/adapters/index.ts'
import { emptyPackage, NpxHome, packageSizes } from '../tests/e2e/npx-home.ts'
import { packPackages } from '../tests/e2e/packed-packages.ts'
import type { Figure, Row } from './lib/figure.ts'

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
const listed = 8

/**
 * The size of an installation by `npx @parley/server`, and the time from a warm npm cache until the server
 * has printed its link. The baselines are the size of an installation that includes Claude Code, as earlier
 * versions did, and an `npx` of an empty package.
 */
export const install: Figure = {
  name: 'install',
  async measure({ folder, quick }) {
    const packages = packPackages()
    try {
      await using home = await NpxHome.open(packages)
      const first = await linkMs(home)
      const rows = sizeRows(packageSizes(home.installed), claudeBytes(folder))
      const again = await linkMs(home)
      const times: Row[] = []
      const rounds = quick ? 1 : 3
      const installs = [first]
      const empty = []
      for (let round = 0; round < rounds; round++) {
        home.forget()
        if (round > 0) installs.push(await linkMs(home))
        home.forget()
        empty.push(await emptyMs(home))
      }
      times.push(timeRow('from npx to the printed link, not installed', median(installs), median(empty)))
      times.push(timeRow('from npx to the printed link, installed', again, median(empty)))
      return [...rows, ...times]
    } finally {
      packages.remove()
    }
  },
}

const offline = { npm_config_offline: 'true' }

async function linkMs(home: NpxHome): Promise<number> {
  const begin = performance.now()
  await using _ = await home.serve()
  return performance.now() - begin
}

async function emptyMs(home: NpxHome): Promise<number> {
  const begin = performance.now()
  const { exitCode, stderr } = await home.run([], offline, emptyPackage)
  if (exitCode !== 0) throw new Error(`npx ${emptyPackage}: ${stderr}`)
  return performance.now() - begin
}

function sizeRows(sizes: ReadonlyMap<string, number>, claude: number): Row[] {
  const total = [...sizes.values()].reduce((sum, one) => sum + one, 0)
  const largest = [...sizes].toSorted(([, a], [, b]) => b - a).slice(0, listed)
  return [
    {
      figure: 'installed size on disk',
      value: megabytes(total),
      baseline: `${megabytes(total + claude)} with Claude`,
      ratio: total / (total + claude),
      aim: '65 MB',
      met: total <= 65e6,
      data: { total, claude },
    },
    { figure: 'installed packages', value: `${sizes.size}`, aim: '130', met: sizes.size <= 130 },
    ...largest.map(([name, bytes]) => ({ figure: `of which ${name}`, value: megabytes(bytes) })),
  ]
}

/** The size of the Agent SDK with Claude Code, as an npm dependency. */
function claudeBytes(folder: string): number {
  const sdk = builtInAdapters().find(({ id }) => id === 'claude')?.install
  const place = join(folder, 'claude')
  mkdirSync(place)
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--prefix', place]
  execFileSync('npm', [...args, `${sdk?.package}@${sdk?.version}`], { stdio: 'ignore' })
  return [...packageSizes(join(place, 'node_modules')).values()].reduce((sum, one) => sum + one, 0)
}

function timeRow(figure: string, ms: number, bare: number): Row {
  const common = { figure, value: seconds(ms), baseline: `${seconds(bare)} an empty package` }
  return { ...common, ratio: ms / bare, aim: '< 20 s', met: ms < 20_000, data: { ms, bare } }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
