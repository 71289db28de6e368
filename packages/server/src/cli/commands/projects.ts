import { isAtSeveralPlaces, type Project } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printList } from '../terminal/table.ts'

export type ProjectsOptions = Flags & { readonly json?: boolean }

const columns = [
  { name: 'NAME', shrinks: true },
  { name: 'SESSIONS' },
  { name: 'WAITING' },
  { name: 'USED' },
  { name: 'BRANCH', shrinks: true },
  { name: 'FOLDER', shrinks: true },
]

/** Lists the projects of all sessions, the most recently used first. */
export async function projects(options: ProjectsOptions, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { projects: found } = await server.client.call('listProjects')
  const empty = `No projects yet. Start a session in a folder: ${context.commandLine('run demo "help"')}`
  const several = isAtSeveralPlaces(found)
  const row = (project: Project) => rowOf(project, several)
  printList(found, { columns, row, empty }, { json: options.json, output: context.output })
  return 0
}

function rowOf(project: Project, showsPlace: boolean): string[] {
  const { name, sessions, waiting, usedAt, root, place, folders } = project
  const branch = folders.find(({ folder }) => folder === root)?.branch ?? ''
  const age = usedAt === undefined ? '' : ageText(Date.now() - usedAt)
  return [
    name,
    String(sessions),
    String(waiting),
    age,
    branch,
    showsPlace && place ? `${root} (${place})` : root,
  ]
}
