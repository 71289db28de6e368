import type { AgentAdapter } from '@parley/adapter-kit'
import type { Environment } from '@parley/adapter-kit/environment'
import { installedVersion } from '@parley/adapter-kit/find-program'
import type { AgentInstaller } from './core/index.ts'

export type AgentInstallerOptions = {
  readonly adapters: readonly AgentAdapter[]
  readonly folder: string
  readonly env: Environment
}

/** Installs agents from npm, at the versions that their adapters are tested with. */
export function createAgentInstaller({ adapters, folder, env }: AgentInstallerOptions): AgentInstaller {
  const packageOf = (agent: string) => adapters.find(({ id }) => id === agent)?.install
  return {
    installed(agent) {
      const install = packageOf(agent)
      return install && installedVersion(folder, agent, install.package)
    },
    async install(agent, progress, signal) {
      const install = packageOf(agent)
      if (!install) return
      const { installAgent } = await import('./adapters/install.ts')
      await installAgent({
        ...install,
        agentsFolder: folder,
        agent,
        env,
        progress: ({ line }) => progress(line),
        signal,
      })
    },
    async remove(agent) {
      const { removeAgent } = await import('./adapters/install.ts')
      return removeAgent(folder, agent)
    },
  }
}
