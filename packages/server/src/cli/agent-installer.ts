import type { Environment } from '../adapters/environment.ts'
import { installedVersion } from '../adapters/find-program.ts'
import { installAgent, removeAgent } from '../adapters/install.ts'
import type { AgentAdapter } from '../core/agent-adapter.ts'
import type { AgentInstaller } from '../core/agent-list.ts'

export type AgentInstallerOptions = {
  readonly adapters: readonly AgentAdapter[]
  /** Where agents are installed. */
  readonly folder: string
  readonly env: Environment
}

/** Installs agents from npm, at the versions that their adapters know. */
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
      const { package: name, version } = install
      await installAgent({
        agentsFolder: folder,
        agent,
        package: name,
        version,
        env,
        progress: ({ line }) => progress(line),
        signal,
      })
    },
    remove: (agent) => removeAgent(folder, agent),
  }
}
