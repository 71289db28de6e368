import { z } from 'zod'
import { Actor } from './actor.ts'
import { visible } from './hidden-characters.ts'
import { Place } from './place.ts'

/**
 * The id of a project: its path, with its place if several servers share a database, encoded. Only `projectIdOf` and
 * `projectOfId` may interpret it.
 */
export const ProjectId = z
  .string()
  .regex(/^prj_[\w-]+$/, 'an id that a list of projects returned')
  .max(8_000)
  .meta({ description: 'A project: a repository, or a folder that is in no repository' })
export type ProjectId = z.infer<typeof ProjectId>

/** The path of a project, and its place if several servers share a database. */
export type ProjectAt = { readonly project: string; readonly place?: string | undefined }

export function projectIdOf({ project, place }: ProjectAt): ProjectId {
  const bytes = new TextEncoder().encode(JSON.stringify(place === undefined ? [project] : [project, place]))
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  return `prj_${base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`
}

/** Returns undefined for a text that is not the id of a project. */
export function projectOfId(id: ProjectId): ProjectAt | undefined {
  try {
    const base64 = id.slice('prj_'.length).replaceAll('-', '+').replaceAll('_', '/')
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const parts = z
      .tuple([z.string()], z.string())
      .safeParse(JSON.parse(new TextDecoder().decode(bytes))).data
    const [project = '', place] = parts ?? []
    const at = { project, ...(place !== undefined && { place }) }
    return projectIdOf(at) === id ? at : undefined
  } catch {
    return undefined
  }
}

/** The project of a session. A session that was recorded without one belongs to its folder. */
export function projectOf({ project, cwd }: { readonly project?: string | undefined; readonly cwd: string }) {
  return project ?? cwd
}

/** The folder by which people identify a project: the main work tree of a repository, or the folder itself. */
export function projectRoot(project: string): string {
  const [, root] = /^(.*)[/\\]\.git$/s.exec(project) ?? []
  return root === '' ? '/' : (root ?? project)
}

/** The default name of a project. */
export function projectName(project: string): string {
  const root = projectRoot(project)
  const last = root.split(/[/\\]/).findLast((part) => part !== '') ?? root
  return last.replace(/(.)\.git$/, '$1')
}

const hasHidden = (text: string) => visible(text) !== text
const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => !text.includes('\n') && !text.includes('\t') && !hasHidden(text), {
      message: 'must be one line without hidden characters',
    })
const commandLine = z
  .string()
  .trim()
  .min(1)
  .max(4_000)
  .refine((text) => !hasHidden(text), 'must not contain hidden characters')

/** True if `git check-ref-format` accepts the name of a branch, and git cannot mistake the name for an option. */
const isBranchName = (name: string) =>
  !/^[-/.]|[/.]$|\.lock(\/|$)|\.\.|\/[/.]|@\{|^@$|[\s~^:?*[\\]/u.test(name) && !hasHidden(name)

/** True for a relative path or pattern that stays inside the folder. */
const isInside = (path: string) =>
  !/^[/\\~]|^[a-z]:/i.test(path) && !path.split(/[/\\]/).includes('..') && !hasHidden(path)

export const BranchName = line(250).refine(isBranchName, 'must be the name of a branch')
/** A path or a pattern of files that are copied into a worktree. */
export const CopyPattern = line(250).refine(isInside, 'must be a path or pattern inside the folder')

/** The settings of a project. `setup` and `check` are commands that a person gives; no repository can give them. */
export const ProjectSettings = z.object({
  name: line(100).meta({ description: 'Replaces the name of the folder' }),
  base: BranchName.meta({ description: 'The branch that changes are compared with and merged into' }),
  setup: commandLine.meta({ description: 'The command that prepares a new worktree' }),
  check: commandLine.meta({ description: 'The command that tests the work' }),
  copy: z
    .array(CopyPattern)
    .min(1)
    .max(100)
    .meta({ description: 'Ignored files that a new worktree gets a copy of' }),
  keepDays: z
    .int()
    .min(1)
    .max(3_650)
    .meta({ description: 'The days after which an unused worktree is removed, if nothing would be lost' }),
})
export type ProjectSettings = z.infer<typeof ProjectSettings>
export type ProjectField = keyof ProjectSettings

const removable = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().optional()
const fields = ProjectSettings.shape

/** Changes the given settings; null removes one. */
export const ProjectPatch = z
  .strictObject({
    name: removable(fields.name),
    base: removable(fields.base),
    setup: removable(fields.setup),
    check: removable(fields.check),
    copy: removable(fields.copy),
    keepDays: removable(fields.keepDays),
  })
  .refine((patch) => Object.keys(patch).length > 0, 'must change at least one setting')
export type ProjectPatch = z.infer<typeof ProjectPatch>

/** A folder in which sessions of a project work. */
export const ProjectFolder = z.object({
  folder: z.string(),
  sessions: z.int(),
  branch: z.string().optional().meta({
    description: 'The branch that is checked out; absent if unknown, or if the folder is on another machine',
  }),
})
export type ProjectFolder = z.infer<typeof ProjectFolder>

export const Project = z.object({
  id: ProjectId,
  project: z.string().meta({
    description:
      'The common directory of the repository, or the folder; the field `project` of the sessions has this value',
  }),
  place: Place.optional(),
  root: z.string().meta({ description: 'The main work tree of the repository, or the folder' }),
  branch: z
    .string()
    .optional()
    .meta({ description: 'The branch that is checked out in the root folder, if it is known' }),
  name: z
    .string()
    .meta({ description: 'The name that a person gave the project, or the name of the root folder' }),
  folders: z.array(ProjectFolder).meta({
    description: 'The folders of the sessions of the project, the most recently used first; at most 50',
  }),
  sessions: z.int().meta({ description: 'Number of sessions of the project that are not archived' }),
  archived: z.int().meta({ description: 'Number of archived sessions of the project' }),
  waiting: z.int().meta({ description: 'Number of sessions of the project that wait for a person' }),
  usedAt: z.number().optional().meta({
    description: 'When a session of the project last changed; absent if the project has no sessions',
  }),
  settings: ProjectSettings.partial().optional().meta({ description: 'Absent for a caller with limits' }),
  changes: z
    .record(z.string(), z.object({ at: z.number(), by: Actor.optional() }))
    .optional()
    .meta({ description: 'When each setting was last changed, and by whom' }),
})
export type Project = z.infer<typeof Project>
