import { ParleyError, type PullRequest } from '@parley/protocol'
import type { FolderGit } from './folder-git.ts'
import { outputOf } from './output.ts'
import type { GitResult } from './run-git.ts'

/** What Parley asks of a program that knows the pull requests of a host. */
export type Forge = {
  /** The request of a branch: the open one, else the latest one. */
  find(git: FolderGit, branch: string): Promise<FoundRequest | undefined>
  /** Its checks and its comments. */
  details(git: FolderGit, found: FoundRequest): Promise<Pick<PullRequest, 'checks' | 'comments' | 'cut'>>
  /** Opens a request and returns its address. */
  open(git: FolderGit, request: NewRequest): Promise<string>
}

export type FoundRequest = Omit<PullRequest, 'checks' | 'comments' | 'cut'> & {
  /** The fields of the request, as the program reported them. */
  readonly told: Readonly<Record<string, unknown>>
}

export type NewRequest = {
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body: string
  readonly draft: boolean
}

export type ForgeName = 'gh' | 'glab'

const askMs = 30_000
const maxBytes = 8 * 1024 * 1024

/**
 * Runs the program and reads the JSON that it writes. JSON counts whatever the exit code is, because the exit code may
 * stand for the state of the request.
 */
export async function askedJson(git: FolderGit, args: readonly [ForgeName, ...string[]]): Promise<unknown> {
  const made = await git.reach(args, { timeoutMs: askMs, limit: maxBytes })
  if (made.code === 0 || made.stdout.trim() !== '')
    try {
      return JSON.parse(made.stdout)
    } catch {
      // The error below contains the output of the program.
    }
  throw forgeFailed(args[0], made)
}

/** `gh` ends with 4 if nobody is signed in. */
const notSignedIn = 4

export function forgeFailed(program: ForgeName, made: GitResult): ParleyError {
  const output = outputOf(made).slice(-1_000)
  const problem = made.code === notSignedIn ? 'not-signed-in' : 'failed'
  const message =
    problem === 'not-signed-in'
      ? `${program} is not signed in on this machine. Run ${program} auth login there.`
      : `${program} could not do this: ${output.split('\n').at(-1) || 'no reason given'}`
  return new ParleyError('conflict', message, { details: { program, problem, output } })
}

type Told = Readonly<Record<string, unknown>>

/** Reads the answer of a program, which may be anything. */
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

/** The largest numbers of checks and comments, and of characters of a comment. */
export const mostOfRequest = { checks: 200, comments: 200, characters: 20_000 }
