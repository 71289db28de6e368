import type { ProjectCommands } from '../core/project-commands.ts'
import type { ProcessMarks } from './run-command.ts'
import type { Environment } from './run-git.ts'

export type ProjectCommandsOptions = { readonly env: Environment; readonly marks?: ProcessMarks }

/** Runs the commands of projects. The code is loaded on first use, because a server does not need it at its start. */
export function createProjectCommands({ env, marks }: ProjectCommandsOptions): ProjectCommands {
  return {
    folderFor: async (cwd) => (await import('./project.ts')).workTreeOf(cwd),
    async run(folder, { mark, ...how }) {
      const { runCommand } = await import('./run-command.ts')
      marks?.end(mark)
      try {
        return await runCommand(env, folder, { ...how, variables: marks?.variables(mark) ?? {} })
      } finally {
        // A command can leave processes behind that are not in its group.
        marks?.end(mark)
      }
    },
    end: (mark) => marks?.end(mark),
  }
}
