import { z } from 'zod'
import { ErrorInfo } from './error.ts'
import { SetupRun } from './worktree.ts'

/** A run of the command that tests the work of a session. */
export const CheckRun = SetupRun.extend({
  error: ErrorInfo.optional().meta({
    description: 'Why the command did not end by itself; `exitCode` is then absent',
  }),
})
export type CheckRun = z.infer<typeof CheckRun>

const changed = z.literal(true).optional().meta({
  description: 'A person has discarded or restored changes since the run began, or has rewound files',
})

/** The checks of a session: the one that runs, and the last one that has ended. */
export const KnownChecks = z.object({
  running: z.object({ command: z.string(), since: z.number(), turns: z.int(), changed }).optional(),
  last: CheckRun.extend({
    at: z.number().meta({ description: 'When the run ended' }),
    turns: z.int().meta({ description: 'The number of turns that had ended when the run began' }),
    changed,
  }).optional(),
})
export type KnownChecks = z.infer<typeof KnownChecks>

/**
 * True if the agent has worked since the last check of the session began, or if a person has changed files with Parley:
 * the files may differ from those that were tested.
 */
export function isCheckOutdated({
  checks,
  turn,
  turns,
}: {
  readonly checks?: KnownChecks | undefined
  readonly turn?: object | undefined
  readonly turns: number
}): boolean {
  const { last } = checks ?? {}
  return last !== undefined && (turn !== undefined || turns > last.turns || last.changed === true)
}
