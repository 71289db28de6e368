import { mkdir } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { createSettings, type Settings } from './git-settings.ts'
import { findRepository, type Repository, standInFor } from './repository.ts'
import type { Environment } from './run-git.ts'

/** A folder, and whether programs that it names may be run. */
export type SeenFolder = { readonly path: string; readonly trusted: boolean }

/**
 * The environment for one run of git; undefined if the folder is in no repository. It is computed for each run,
 * because the repository of a folder can change while the folder is watched.
 */
export type EnvironmentOf = Promise<Environment | undefined>

export function createEnvironments(env: Environment) {
  const settingsOf = createSettings((repository) => baseEnvironment(env, foldersOf(repository)))

  /** The environment in which git reads neither the configuration of the repository nor that of the person. */
  async function withoutConfiguration(repository: Repository): Promise<Environment> {
    const { workTree, gitDir, commonDir } = repository
    const { format, settings } = await settingsOf(repository)
    return {
      ...baseEnvironment(env, foldersOf(repository)),
      GIT_DIR: gitDir,
      GIT_WORK_TREE: workTree,
      GIT_COMMON_DIR: await standInFor(commonDir, format),
      GIT_OBJECT_DIRECTORY: join(commonDir, 'objects'),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      ...asEnvironment(new Map([...settings, ...runsNothing])),
    }
  }

  async function personsEnvironment({ path, trusted }: SeenFolder): Promise<Environment | undefined> {
    const repository = await findRepository(path)
    if (!repository || !isTrusted(repository, { path, trusted })) return undefined
    const { gitDir, workTree } = repository
    return {
      ...inherited(env, foldersOf(repository)),
      GIT_DIR: gitDir,
      GIT_WORK_TREE: workTree,
      ...asEnvironment(persons),
    }
  }

  return {
    async look({ path, trusted }: SeenFolder): EnvironmentOf {
      const repository = await findRepository(path)
      if (!repository) return undefined
      const { gitDir, workTree } = repository
      if (!isTrusted(repository, { path, trusted })) return withoutConfiguration(repository)
      const base = baseEnvironment(env, foldersOf(repository))
      return { ...base, GIT_DIR: gitDir, GIT_WORK_TREE: workTree, ...asEnvironment(runsNothing) }
    },

    async change(folder: SeenFolder): EnvironmentOf {
      const trusted = await personsEnvironment(folder)
      if (trusted) return trusted
      const repository = await findRepository(folder.path)
      if (!repository) return undefined
      // Git creates this folder with the first reflog, but cannot create it through the link in the stand-in.
      await mkdir(join(repository.commonDir, 'logs'), { recursive: true }).catch(() => undefined)
      return withoutConfiguration(repository)
    },

    /** For `git worktree`, which writes the path of the real common directory into the new work tree. */
    async worktrees(folder: SeenFolder): EnvironmentOf {
      const trusted = await personsEnvironment(folder)
      if (trusted) return trusted
      const repository = await findRepository(folder.path)
      if (!repository) return undefined
      return {
        ...baseEnvironment(env, foldersOf(repository)),
        GIT_DIR: repository.gitDir,
        GIT_WORK_TREE: repository.workTree,
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        ...asEnvironment(runsNothing),
      }
    },

    /** For commits. GIT_DIR is not set in a trusted folder, because hooks may run git in other repositories. */
    async commit(folder: SeenFolder): EnvironmentOf {
      return (await this.reach(folder)) ?? this.change(folder)
    },

    /** For `gh` and `glab`, which find the repository by themselves. GIT_DIR is not set. */
    async reach(folder: SeenFolder): EnvironmentOf {
      const env = await personsEnvironment(folder)
      if (!env) return undefined
      const { GIT_DIR, GIT_WORK_TREE, ...rest } = env
      return rest
    },
  }
}

/** The environments for shadows, which have their own configuration and store files without conversion. */
export function createShadowEnvironments(env: Environment) {
  const settingsOf = createSettings((repository) => baseEnvironment(env, foldersOf(repository)))
  return {
    settingsOf,
    async environment({ gitDir, workTree, repository }: ShadowPlace): Promise<Environment> {
      const { settings } = await settingsOf(repository)
      return {
        ...baseEnvironment(env, [workTree, ...foldersOf(repository)]),
        GIT_DIR: gitDir,
        GIT_WORK_TREE: workTree,
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        ...asEnvironment(new Map([...settings, ...runsNothing, ...asItIs])),
      }
    },
  }
}

export type ShadowPlace = {
  readonly gitDir: string
  readonly workTree: string
  readonly repository: Repository | undefined
}

/** Trusting a folder inside a repository does not trust the repository. */
const isTrusted = ({ workTree }: Repository, { path, trusted }: SeenFolder) => trusted && workTree === path

/** These settings apply in trusted folders too. A file system monitor would continue to run after the command. */
const noMonitor: Settings = new Map([
  ['core.fsmonitor', 'false'],
  ['core.quotePath', 'false'],
  // Git must not guess the identity of the person from the name of the machine.
  ['user.useConfigOnly', 'true'],
  ['safe.bareRepository', 'explicit'],
  // Uses one process per core.
  ['checkout.workers', '0'],
])

/** The reflog of HEAD must exist, because it contains the marks of commands. */
const persons: Settings = new Map([...noMonitor, ['core.logAllRefUpdates', 'true']])

const runsNothing: Settings = new Map([
  ...noMonitor,
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', 'false'],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['core.logAllRefUpdates', 'true'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['diff.ignoreSubmodules', 'dirty'],
  ['status.submoduleSummary', 'false'],
])

/** Accepts every name that the file system allows, and converts no content. */
const asItIs: Settings = new Map([
  ['core.autocrlf', 'false'],
  ['core.protectHFS', 'false'],
  ['core.protectNTFS', 'false'],
  ['core.splitIndex', 'false'],
])

/** Makes git fail instead of asking for input, since nobody can answer. */
const nobodyAsked = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'false',
  GIT_ASKPASS: 'false',
  SSH_ASKPASS_REQUIRE: 'never',
}

/**
 * The environment for git in an untrusted folder. From the server's environment, it passes on only PATH and the
 * location of the person's own files.
 */
function baseEnvironment(
  { PATH, HOME, XDG_CONFIG_HOME }: Environment,
  folders: readonly string[],
): Environment {
  return {
    PATH: pathOutside(PATH, folders),
    HOME,
    XDG_CONFIG_HOME,
    ...nobodyAsked,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
    GIT_SSH_COMMAND: 'false',
  }
}

/**
 * The environment for git in a trusted folder, whose hooks, signing and credential helpers need the variables of the
 * person. Variables of Parley, npm and git are removed.
 */
function inherited(env: Environment, folders: readonly string[]): Environment {
  const kept = Object.entries(env).filter(([name]) => !/^(PARLEY_|npm_|GIT_)/.test(name))
  return { ...Object.fromEntries(kept), PATH: pathOutside(env.PATH, folders), ...nobodyAsked }
}

/** The folders that contain files of the repository: the work tree, and the main work tree. */
const foldersOf = (repository: Repository | undefined) =>
  repository ? [repository.workTree, dirname(repository.commonDir)] : []

/** Drops relative entries of the PATH and those inside the folders, because they may contain a program named git. */
function pathOutside(path: string | undefined, folders: readonly string[]): string {
  const isOutside = (entry: string, folder: string) => {
    const inside = relative(folder, entry)
    return inside === '..' || inside.startsWith('../')
  }
  return (path ?? '')
    .split(':')
    .filter((entry) => isAbsolute(entry) && folders.every((folder) => isOutside(entry, folder)))
    .join(':')
}

/**
 * Passes settings to git in environment variables. `-c` is not used, because it splits at the first `=`, even
 * inside a name.
 */
export function asEnvironment(settings: Settings): Environment {
  const entries = [...settings].flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.size), ...Object.fromEntries(entries) }
}
