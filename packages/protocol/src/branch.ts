import { z } from 'zod'

const web = z.string().regex(/^https?:\/\//)

/** The number of commits by which the checked-out branch and another branch differ. */
const distance = {
  ahead: z.int().meta({ description: 'Commits that only the checked-out branch has' }),
  behind: z.int().meta({ description: 'Commits that only the other branch has' }),
}

/**
 * The checked-out branch of a session's folder, as the local repository describes it. The remote is not contacted.
 */
export const BranchInfo = z.object({
  branch: z.string().optional().meta({ description: 'Absent: no branch is checked out' }),
  commit: z.string().optional().meta({ description: 'Absent: there is no commit' }),
  base: z
    .object({
      branch: z.string(),
      ...distance,
      toMerge: z.int().optional().meta({
        description:
          'Commits that a merge on this machine would add to the local base branch; 0 if both have the same files. Absent: there is no local base branch',
      }),
    })
    .optional()
    .meta({ description: 'The branch into which this branch will be merged' }),
  isBase: z
    .literal(true)
    .optional()
    .meta({ description: 'The branch is the base itself, and is not pushed' }),
  remote: z
    .object({
      name: z.string(),
      url: z.string().optional().meta({ description: 'Without credentials' }),
      branch: z
        .object({ commit: z.string(), ...distance })
        .optional()
        .meta({
          description:
            'The branch at the remote, as of the last fetch or push. Absent: the remote does not have it',
        }),
    })
    .optional()
    .meta({ description: 'The remote branch to which the branch is pushed' }),
  author: z
    .object({ name: z.string(), email: z.string() })
    .optional()
    .meta({ description: 'The identity for commits. Absent: git has none' }),
  unfinished: z.string().optional().meta({ description: 'Work that git has not finished, such as a merge' }),
  trusted: z
    .boolean()
    .meta({ description: 'The folder is trusted: hooks run, and the branch can be pushed' }),
})
export type BranchInfo = z.infer<typeof BranchInfo>

export const PullRequestCheck = z.object({
  name: z.string(),
  result: z.enum(['passed', 'failed', 'pending', 'skipped', 'cancelled']),
  text: z.string().optional(),
  url: web.optional(),
})
export type PullRequestCheck = z.infer<typeof PullRequestCheck>

/** The end of the log of a failed check. Its text was written by programs and other people. */
export const CheckLog = z.object({
  name: z.string(),
  text: z
    .string()
    .meta({ description: 'The end of the log, without control characters; empty if there is a problem' }),
  cut: z.literal(true).optional().meta({ description: 'The beginning of the log was left out' }),
  problem: z.string().optional().meta({ description: 'Why there is no log' }),
})
export type CheckLog = z.infer<typeof CheckLog>

/** A comment of any author on a pull request. A prompt that contains it marks it as a quotation. */
export const PullRequestComment = z.object({
  author: z.string(),
  text: z.string(),
  at: z.string().optional(),
  url: web.optional(),
  path: z.string().optional(),
  line: z.int().optional(),
  verdict: z.enum(['approved', 'changes-requested']).optional(),
})
export type PullRequestComment = z.infer<typeof PullRequestComment>

export const PullRequest = z.object({
  number: z.int(),
  url: web,
  title: z.string(),
  state: z.enum(['open', 'merged', 'closed']),
  draft: z.boolean(),
  base: z.string(),
  checks: z.array(PullRequestCheck),
  comments: z.array(PullRequestComment),
  cut: z.literal(true).optional().meta({ description: 'Some checks, comments or texts were left out' }),
})
export type PullRequest = z.infer<typeof PullRequest>

/** The pull request of the checked-out branch, as the command-line program of its host reports it. */
export const PullRequestInfo = z.object({
  program: z
    .enum(['gh', 'glab'])
    .optional()
    .meta({ description: 'Absent: no program is known for this host' }),
  request: PullRequest.optional(),
  link: web.optional().meta({ description: 'A page on which a person can open a pull request' }),
  problem: z
    .enum(['not-trusted', 'not-installed', 'not-signed-in', 'failed'])
    .optional()
    .meta({ description: 'Why nothing is known about a pull request' }),
  message: z.string().optional().meta({ description: 'The problem as a sentence' }),
})
export type PullRequestInfo = z.infer<typeof PullRequestInfo>
