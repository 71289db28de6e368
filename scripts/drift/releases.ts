import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentPackage } from '@parley/adapter-kit'
import { runProgram } from '@parley/adapter-kit/run-program'
import { installAgent, packageAt } from '../../packages/server/src/adapters/install.ts'
import { findNpm } from '../../packages/server/src/adapters/npm.ts'
import { testAgentsFolder } from '../../packages/server/src/testing/agents-folder.ts'
import type { Release, Steps, TestedAgent } from './examine.ts'

const viewMs = 60_000
/** The time between two lines of npm, which writes many. */
const progressMs = 20_000

type Installation = {
  readonly install: AgentPackage
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** The steps that find and install releases. Other releases than the tested one get the agents folder `own`. */
export function releaseSteps(
  own: string,
  { install, say, signal }: Installation,
): Pick<Steps, 'resolve' | 'tested' | 'install'> {
  async function installed({ id }: TestedAgent, release: Release): Promise<void> {
    let last = 0
    const progress = ({ line, elapsedMs }: { line: string; elapsedMs: number }) => {
      if (!/^(checking|running) /.test(line) && elapsedMs - last < progressMs) return
      last = elapsedMs
      say(`${id} ${release.version}: ${line}`)
    }
    const { version, agentsFolder } = release
    const request = { ...packageAt(install, version), agentsFolder, agent: id, env: process.env, signal }
    const { changed } = await installAgent({ ...request, withProgram: true, progress })
    if (changed) say(`${id} ${release.version}: installed`)
  }
  return {
    resolve: (agent, wanted) => versionFor(agent, wanted, signal),
    async tested(agent) {
      const release = { version: agent.version, agentsFolder: testAgentsFolder() }
      // The tested release of a library is a development dependency of the repository.
      if (!install.library) await installed(agent, release)
      return release
    },
    async install(agent, version) {
      const release = { version, agentsFolder: own }
      await installed(agent, release)
      linkOthers(agent, own)
      return release
    },
  }
}

async function versionFor({ package: name }: TestedAgent, wanted: string, signal: AbortSignal) {
  if (!/^[0-9a-z][0-9a-z.+-]*$/i.test(wanted)) throw new Error(`"${wanted}" is not a version`)
  const npm = await findNpm(process.env, signal)
  const { exitCode, stdout, stderrTail, cut } = await runProgram({
    command: npm.path,
    args: ['view', `${name}@${wanted}`, 'version', '--json', '--no-update-notifier'],
    cwd: tmpdir(),
    env: npm.env,
    timeoutMs: viewMs,
    signal,
  })
  const found: unknown = exitCode === 0 && stdout.trim() !== '' ? JSON.parse(stdout) : undefined
  if (typeof found === 'string') return found
  const why = cut ?? (stderrTail.trim() || 'there is no such version')
  throw new Error(`npm does not find ${name} ${wanted}: ${why}`)
}

/** Links the tested releases of the other agents into the folder, because an adapter can use the program of another agent. */
function linkOthers({ id }: TestedAgent, agentsFolder: string): void {
  const tested = testAgentsFolder()
  if (!existsSync(tested)) return
  for (const other of readdirSync(tested))
    if (other !== id && !other.startsWith('.')) symlinkSync(join(tested, other), join(agentsFolder, other))
}
