import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { claudeEnvironment } from '../../packages/server/src/testing/claude-environment.ts'
import { opencodeEnvironment } from '../../packages/server/src/testing/opencode-environment.ts'
import { opencodeProgram } from './opencode.ts'
import { qwenEntry, qwenEnvironment } from './qwen.ts'
import type { AgentName, Place, Programs, SideInfo } from './side.ts'

export type PlaceInput = { readonly folder: string; readonly modelUrl: string; readonly programs: Programs }

/** Makes the folders of a side, and the environment of its agent. */
export function placeFor({ name, agent }: SideInfo, { folder, modelUrl, programs }: PlaceInput): Place {
  const root = join(realpathSync(folder), name)
  const home = join(root, 'home')
  const temporary = join(root, 'tmp')
  const work = join(root, 'work')
  for (const path of [home, temporary, work]) mkdirSync(path, { recursive: true })
  const env = {
    ...withoutTestSettings(environments[agent](modelUrl, home)),
    PATH: [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: home,
    TMPDIR: temporary,
  }
  makeRepository(work, env)
  return { home, temporary, work, env, modelUrl, programs }
}

/** People work in repositories, and some sides take snapshots of them. */
function makeRepository(work: string, env: Record<string, string>): void {
  if (existsSync(join(work, '.git'))) return
  for (const name of ['README.md', 'main.ts', 'main.test.ts']) writeFileSync(join(work, name), `${name}\n`)
  const author = ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost']
  for (const args of [
    ['init', '--quiet'],
    ['add', '.'],
    [...author, 'commit', '--quiet', '-m', 'Begin'],
  ])
    execFileSync('git', args, { cwd: work, env })
}

const environments: Record<AgentName, (url: string, home: string) => Record<string, string>> = {
  claude: (url, home) => claudeEnvironment({ url, home }),
  opencode: (url, home) => opencodeEnvironment({ url, home }),
  qwen: qwenEnvironment,
}

/** Tests slow Bun down to save processor time at the start, and share a compile cache. */
function withoutTestSettings(env: Record<string, string>): Record<string, string> {
  const { BUN_JSC_useDFGJIT, NODE_COMPILE_CACHE, ...rest } = env
  return rest
}

/** The `config.json` of Parley, which names the same program that the peer runs. */
export const parleyConfig: Record<AgentName, (place: Place) => object> = {
  claude: ({ programs }) => ({ agents: { claude: { command: programs.claude } } }),
  opencode: (place) => ({ agents: { opencode: { command: opencodeProgram(place) } } }),
  qwen: (place) => ({
    agents: { qwen: { command: process.execPath, args: [qwenEntry(place), '--acp'] } },
  }),
}

/** The folders in the home folder that the agent itself writes. */
export const agentFolders: Record<AgentName, readonly string[]> = {
  claude: ['.claude'],
  opencode: ['.local/share/opencode', '.local/state/opencode', '.cache/opencode', '.config/opencode'],
  qwen: ['.qwen'],
}
