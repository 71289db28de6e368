import { ParleyError, type PullRequest } from '@parley/protocol'
import type { FolderGit } from './folder-git.ts'
import { outputOf } from './output.ts'
import type { GitResult } from './run-git.ts'

/** The operations on pull requests that Parley performs with the command-line program of a host. */
export type Forge = {
  /** Finds the pull request of a branch: the open one, otherwise the latest one. */
  find(git: FolderGit, branch: string): Promise<FoundRequest | undefined>
  details(git: FolderGit, found: FoundRequest): Promise<Pick<PullRequest, 'checks' | 'comments' | 'cut'>>
  /** Finds the logs of the failed checks of a pull request. */
  failedLogs(git: FolderGit, found: FoundRequest): Promise<LogSource[]>
  /** Opens a pull request and returns its URL. */
  open(git: FolderGit, request: NewRequest): Promise<string>
}

export type FoundRequest = Omit<PullRequest, 'checks' | 'comments' | 'cut'> & {
  /** The fields of the pull request, as the program reported them. */
  readonly told: Readonly<Record<string, unknown>>
}

export type NewRequest = {
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body: string
  readonly draft: boolean
}

/** One log that the program of a host can print. */
export type LogSource = { readonly name: string } & (
  | { readonly args: readonly [ForgeName, ...string[]]; readonly lines?: (text: string) => string }
  | { readonly problem: string }
)

export type ForgeName = 'gh' | 'glab'

const askMs = 30_000
const maxBytes = 8 * 1024 * 1024

/**
 * Runs the program and parses its output as JSON. A non-zero exit code is ignored if there is output, because it can
 * stand for the state of the pull request.
 */
export async function askedJson(git: FolderGit, args: readonly [ForgeName, ...string[]]): Promise<unknown> {
  const made = await git.reach(args, { timeoutMs: askMs, limit: maxBytes })
  if (made.code === 0 || made.stdout.trim() !== '')
    try {
      return JSON.parse(made.stdout)
    } catch {
      // The error below contains the output.
    }
  throw forgeFailed(args[0], made)
}

/** The exit code of `gh` if nobody is signed in. */
const notSignedIn = 4

export function forgeFailed(program: ForgeName, made: GitResult): ParleyError {
  const output = outputOf(made).slice(-1_000)
  const problem = made.code === notSignedIn ? 'not-signed-in' : 'failed'
  const message =
    problem === 'not-signed-in'
      ? `${program} is not signed in on this machine. Run ${program} auth login there.`
      : `${program} failed: ${output.split('\n').at(-1) || 'no reason given'}`
  return new ParleyError('conflict', message, { details: { program, problem, output } })
}

type Told = Readonly<Record<string, unknown>>

/** Reads fields of the program's output, which may have any shape. */
export const told = {
  record: (value: unknown): Told =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Told) : {},
  list: (value: unknown): Told[] => (Array.isArray(value) ? value.map(told.record) : []),
  text: (value: unknown, longest = 500): string | undefined =>
    typeof value === 'string' && value !== '' ? value.slice(0, longest) : undefined,
  whole: (value: unknown): number | undefined =>
    typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined,
  url: (value: unknown): string | undefined =>
    typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
      ? value.slice(0, 2_000)
      : undefined,
}

/** The maximum number of checks and of comments of a pull request, and of characters of a comment. */
export const mostOfRequest = { checks: 200, comments: 200, characters: 20_000 }
