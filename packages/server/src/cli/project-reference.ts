import { resolve } from 'node:path'
import type { Client } from '@parley/client'
import { ParleyError, type Project, projectRoot } from '@parley/protocol'
import type { Context } from './context.ts'
import { oneLine } from './terminal/visible.ts'

/** The id of the project that a person names by its name, its id, or a folder of it. */
export async function findProject(client: Client, given: string, context: Context): Promise<string> {
  const { projects } = await client.call('listProjects')
  const folder = resolve(context.cwd, given)
  const hasFolder = ({ root, folders }: Project) =>
    root === folder || folders.some((one) => one.folder === folder)
  const named = projects.filter(({ id, name }) => id === given || name.toLowerCase() === given.toLowerCase())
  const found = named.length > 0 ? named : projects.filter(hasFolder)
  const [project] = found
  const list = context.commandLine('projects')
  if (!project)
    throw new ParleyError('not_found', `There is no project "${oneLine(given)}". List them: ${list}`)
  if (found.length === 1) return project.id
  const folders = found.map((one) => oneLine(projectRoot(one.project))).join(', ')
  throw new ParleyError(
    'conflict',
    `${found.length} projects match "${oneLine(given)}": ${folders}. Name one by its folder.`,
  )
}
