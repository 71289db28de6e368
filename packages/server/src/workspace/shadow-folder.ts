import { stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { GitFolder, GitIn, ShadowGit } from './git.ts'
import type { SettingsOf } from './git-settings.ts'
import type { GitResult } from './run-git.ts'
import { type Shadow, shadowOf } from './shadow.ts'

/** A folder, with the shadow of its project. */
export type ShadowFolder = {
  readonly folder: string
  readonly shadow: Shadow
  readonly signal: AbortSignal | undefined
  /** Makes the shadow again if the deletion of the last other session of the project has removed it. */
  ensure(): Promise<void>
  /** The repository of the folder, read as an untrusted repository. */
  readonly repository: Pick<GitFolder, 'look'>
  /** Runs git in the shadow. Rejects if git fails. */
  git(args: readonly [string, ...string[]], options?: InShadow): Promise<Buffer>
  /** Like `git`, but returns the result if git fails. */
  tryGit(args: readonly [string, ...string[]], options?: InShadow): Promise<GitResult>
  /** Options that exclude what git ignores, and the data folder of Parley. */
  readonly excluding: readonly string[]
  /** True if a setting, and not only attributes in the repository, can make git convert files. */
  convertsAnywhere(): Promise<boolean>
}

export type InShadow = {
  readonly index?: string
  readonly input?: Buffer
  readonly limit?: number
  /** Runs git in the folder, so that paths are relative to it. The default is the top of the work tree. */
  readonly inFolder?: true
}

export type ShadowParts = {
  readonly gitIn: GitIn
  readonly shadowGit: ShadowGit
  readonly settingsOf: SettingsOf
  /** The folder that contains the shadows. */
  readonly root: string
}

/** The time limit of one git command in a shadow. */
const timeoutMs = 60_000

export async function openShadow(
  { gitIn, shadowGit, settingsOf, root }: ShadowParts,
  folder: string,
  signal?: AbortSignal,
): Promise<ShadowFolder> {
  const make = () => shadowOf(root, folder, async (found) => (await settingsOf(found)).format)
  const shadow = await make()
  const tryGit: ShadowFolder['tryGit'] = (args, { index, inFolder, ...options } = {}) =>
    shadowGit({ ...shadow, cwd: inFolder ? folder : shadow.workTree }, args, {
      ...options,
      ...(index !== undefined && { env: { GIT_INDEX_FILE: index } }),
      signal,
      timeoutMs,
    })
  return {
    ...{ folder, shadow, signal, tryGit },
    async ensure() {
      const found = await stat(shadow.place).catch(() => undefined)
      if (!found) await make()
    },
    repository: gitIn({ path: shadow.workTree, trusted: false }),
    async git(args, options) {
      const result = await tryGit(args, options)
      if (result.code === 0 && !result.cut) return result.bytes
      throw new ParleyError(
        'busy',
        `git ${args[0]} failed: ${result.stderr || 'too much output'}. Try again.`,
      )
    },
    excluding: ['--exclude-standard', ...withoutData(shadow.workTree, root)],
    async convertsAnywhere() {
      const { repository } = shadow
      if (!repository) return true
      const { converts, attributes } = await settingsOf(repository)
      const files = [attributes, join(repository.commonDir, 'info/attributes')]
      const sizes = await Promise.all(files.map((file) => stat(file).catch(() => undefined)))
      return converts || sizes.some((found) => found !== undefined && found.size > 0)
    },
  }
}

/** The path of the folder in the work tree, with a slash at its end; empty for the work tree itself. */
export function prefixOf({ folder, shadow }: Pick<ShadowFolder, 'folder' | 'shadow'>): string {
  const path = relative(shadow.workTree, folder)
  return path === '' ? '' : `${path}/`
}

/**
 * The option that limits a comparison to the folder, and names paths relative to it. For git at the top of the work
 * tree, so that the folder need not exist any more.
 */
export function relativeTo(at: Pick<ShadowFolder, 'folder' | 'shadow'>): string {
  const prefix = prefixOf(at)
  return prefix === '' ? '--relative' : `--relative=${prefix}`
}

/** Excludes the data folder of Parley, which may be inside the work tree. */
function withoutData(workTree: string, root: string): string[] {
  const inside = relative(workTree, root)
  return inside === '..' || inside.startsWith('../') ? [] : [`--exclude=/${inside}/`]
}
