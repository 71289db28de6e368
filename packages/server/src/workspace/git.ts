import { ParleyError } from '@parley/protocol'
import {
  createEnvironments,
  createShadowEnvironments,
  type EnvironmentOf,
  type SeenFolder,
  type ShadowPlace,
} from './git-environment.ts'
import type { SettingsOf } from './git-settings.ts'
import { type GitResult, type RunOptions, runProgram } from './run-git.ts'

/**
 * The only place that runs git, and the programs `gh` and `glab`, which run git. Each command belongs to one of three
 * levels:
 * - `look` reads, in any folder.
 * - `change` changes the repository or its work tree, in any folder. The folder's hooks, filters, drivers and signing
 *   are used only if the folder is trusted.
 * - `reach` contacts remotes, and is refused unless the folder is trusted.
 *
 * Use: `gitIn({ path, trusted }).look(['diff', base, '--', path], { limit })`. The result has the exit code; a call
 * rejects only if git cannot be run, is refused or does not end in time. Paths are taken literally. In a folder
 * without a repository, the exit code is 128.
 *
 * No program that an untrusted folder names may be run. Git runs programs that a configuration names (filters,
 * drivers, monitors, hooks), so the configuration of such a repository is not read at all: a stand-in directory
 * replaces the repository's common directory (GIT_COMMON_DIR). The person's own configuration is disabled too,
 * because attributes of the repository can choose filters from it. No setting is overridden individually, so no
 * setting can be missed, or changed meanwhile. Snapshots are taken through a shadow (`createShadowGit`), which is a
 * repository of our own, whether or not the folder is trusted.
 *
 * Some commands are refused in an untrusted folder. `add`, `rm`, `merge` and `commit --all` start git in repositories
 * inside the folder, with the configuration of these repositories. Instead, stage with `update-index --add --remove
 * -z --stdin`, and merge with `merge-tree`, `commit-tree` and `read-tree -m -u`. `worktree` must use the real common
 * directory, so it reads the configuration there. Instead, add with `--no-checkout` and then run `reset --hard` in
 * the new work tree; look for changes, then remove with `--force`.
 */

export type { SeenFolder } from './git-environment.ts'

export type GitFolder = {
  readonly look: RunIn<LookCommand>
  readonly change: RunIn<ChangeCommand>
  readonly reach: RunIn<ReachCommand>
}

export type GitIn = (folder: SeenFolder) => GitFolder
export type Look = GitFolder['look']

export type GitOptions = RunOptions & {
  /** Variables of git for this run. */
  readonly env?: Readonly<Partial<Record<GitVariable, string>>>
  /** Reads paths as patterns, such as `:(exclude)` and `*.ts`. */
  readonly patterns?: true
}

export type GitVariable =
  | 'GIT_INDEX_FILE'
  | 'GIT_REFLOG_ACTION'
  | 'GIT_AUTHOR_NAME'
  | 'GIT_AUTHOR_EMAIL'
  | 'GIT_AUTHOR_DATE'
  | 'GIT_COMMITTER_NAME'
  | 'GIT_COMMITTER_EMAIL'
  | 'GIT_COMMITTER_DATE'

type LookCommand =
  | 'cat-file'
  | 'check-attr'
  | 'check-ignore'
  | 'config'
  | 'diff'
  | 'diff-files'
  | 'diff-index'
  | 'diff-tree'
  | 'for-each-ref'
  | 'log'
  | 'ls-files'
  | 'ls-tree'
  | 'merge-base'
  | 'rev-list'
  | 'rev-parse'
  | 'show-ref'
  | 'symbolic-ref'

type ChangeCommand =
  | 'add'
  | 'apply'
  | 'branch'
  | 'checkout'
  | 'checkout-index'
  | 'commit'
  | 'commit-tree'
  | 'hash-object'
  | 'merge'
  | 'merge-tree'
  | 'read-tree'
  | 'reset'
  | 'restore'
  | 'rm'
  | 'switch'
  | 'update-index'
  | 'update-ref'
  | 'var'
  | 'worktree'
  | 'write-tree'

type ReachCommand = 'fetch' | 'ls-remote' | 'push' | 'submodule' | Forge
type Forge = 'gh' | 'glab'

type RunIn<Command> = (args: readonly [Command, ...string[]], options?: GitOptions) => Promise<GitResult>

export function createGitIn(env: Readonly<Record<string, string | undefined>>): GitIn {
  const environments = createEnvironments(env)
  return (folder) => ({
    look: (args, options) => git(folder.path, args, environments.look(folder), options),
    async change(args, options) {
      if (!folder.trusted) expectSafe(args)
      const environment = environments[environmentFor[args[0]] ?? 'change'](folder)
      return git(folder.path, args, environment, options)
    },
    async reach(args, options) {
      if (!folder.trusted) throw notTrusted(folder)
      const [first, ...rest] = args
      if (!isForge(first)) return git(folder.path, args, environments.reach(folder), options)
      const reached = await environments.reach(folder)
      if (!reached) return notARepository
      return runProgram({
        ...options,
        program: first,
        args: rest,
        cwd: folder.path,
        env: { ...reached, ...nobodyAnswers },
      })
    },
  })
}

const environmentFor: Readonly<Partial<Record<ChangeCommand, 'worktrees' | 'commit'>>> = {
  worktree: 'worktrees',
  commit: 'commit',
}

/** Runs git in a shadow, in the folder `cwd` of its work tree. Nothing of the repository is changed. */
export type ShadowGit = (
  shadow: ShadowPlace & { readonly cwd: string },
  args: readonly [string, ...string[]],
  options: GitOptions,
) => Promise<GitResult>

export function createShadowGit(env: Readonly<Record<string, string | undefined>>): {
  readonly shadowGit: ShadowGit
  readonly settingsOf: SettingsOf
} {
  const { settingsOf, environment } = createShadowEnvironments(env)
  return {
    settingsOf,
    shadowGit: (shadow, args, options) => git(shadow.cwd, args, environment(shadow), options),
  }
}

/** Makes `gh` and `glab` fail instead of asking, and write plain text. */
const nobodyAnswers = {
  GH_PROMPT_DISABLED: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  NO_PROMPT: '1',
  NO_COLOR: '1',
  GLAB_CHECK_UPDATE: 'false',
}

const isForge = (command: ReachCommand): command is Forge => command === 'gh' || command === 'glab'

async function git(
  cwd: string,
  [command, ...rest]: readonly [string, ...string[]],
  environment: EnvironmentOf,
  { env: given, patterns, ...options }: GitOptions = {},
): Promise<GitResult> {
  const env = await environment
  if (!env) return notARepository
  // check-ignore refuses this option, so its caller writes `./` before each path.
  const literal = patterns || command === 'check-ignore' ? [] : ['--literal-pathspecs']
  const args = [...literal, command, ...(flags[command] ?? []), ...rest]
  return runProgram({ ...options, program: 'git', args, cwd, env: { ...env, ...given } })
}

const empty = Buffer.alloc(0)
export const notARepository: GitResult = {
  code: 128,
  bytes: empty,
  stdout: '',
  stderr: 'not a git repository',
  cut: false,
}

/**
 * Options that are added to a command. A diff does not enter submodules, because git would run programs that
 * they name.
 */
const plainDiff = [
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--ignore-submodules=dirty',
  '--submodule=short',
]
const flags: { readonly [command: string]: readonly string[] } = {
  diff: plainDiff,
  'diff-files': plainDiff,
  'diff-index': plainDiff,
  'diff-tree': plainDiff,
  log: plainDiff,
}

/** Refuses commands that would run programs from an untrusted folder. No caller may use them there. */
function expectSafe([command, ...rest]: readonly [ChangeCommand, ...string[]]): void {
  const needed = { add: '--no-checkout', remove: '--force' }[command === 'worktree' ? (rest[0] ?? '') : '']
  const isAll = command === 'commit' && rest.some((option) => /^(--all|-[a-zA-Z]*a[a-zA-Z]*)$/.test(option))
  if (command !== 'add' && command !== 'rm' && command !== 'merge' && !isAll) {
    if (needed === undefined || rest.includes(needed)) return
  }
  const what = [command, ...rest.slice(0, 1)].join(' ')
  throw new ParleyError('internal_error', `git ${what} is not safe in a folder that is not trusted.`)
}

function notTrusted({ path }: SeenFolder): ParleyError {
  const message = `${path} is not trusted, so nothing is fetched or sent from there. Trust the folder first.`
  return new ParleyError('forbidden', message, { details: { untrusted: path } })
}
