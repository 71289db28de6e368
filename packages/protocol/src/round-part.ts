import { z } from 'zod'
import { Actor } from './actor.ts'
import { RoundId, SessionId } from './ids.ts'

/** The smallest and the largest number of attempts in a round. */
export const attemptsInRound = { min: 2, max: 5 } as const

export const AttemptNumber = z.int().min(1).max(attemptsInRound.max)
export type AttemptNumber = z.infer<typeof AttemptNumber>

/** The round for which a session was made, and which of its attempts the session is. */
export const RoundPart = z.object({
  id: RoundId,
  attempt: AttemptNumber,
  count: z
    .int()
    .min(attemptsInRound.min)
    .max(attemptsInRound.max)
    .meta({ description: 'The number of attempts' }),
})
export type RoundPart = z.infer<typeof RoundPart>

/** Whether a person chose this attempt, or another one of the round. */
export const AttemptPick = z.enum(['picked', 'passed-over'])
export type AttemptPick = z.infer<typeof AttemptPick>

/** The round of a session, as the state of the session records it: the attempt, its working time, and the pick. */
export const KnownRound = RoundPart.extend({
  workedMs: z.number().meta({ description: 'The duration of all turns that have ended' }),
  pick: z
    .object({
      state: AttemptPick,
      number: z.int().min(1).meta({
        description: 'The number of the pick in the round; the pick with the highest number is valid',
      }),
      session: SessionId.meta({ description: 'The picked session' }),
      at: z.number(),
      actor: Actor.optional().meta({ description: 'The person who picked' }),
      due: z.boolean().meta({
        description:
          'The pick is not complete: the other attempts must still be notified, or the worktree of this attempt must still be removed',
      }),
    })
    .optional()
    .meta({ description: 'The current pick. Absent: no attempt was picked' }),
})
export type KnownRound = z.infer<typeof KnownRound>
