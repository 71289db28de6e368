import { z } from 'zod'
import { Changes } from './change.ts'
import { RoundId } from './ids.ts'
import { ProjectId } from './project.ts'
import { NewRound, Round } from './round.ts'
import { AttemptNumber } from './round-part.ts'
import { limit, type RouteDefinition, whole } from './route.ts'

const byRound = z.object({ id: RoundId })
const attempt = whole.pipe(AttemptNumber)

/** Two attempts, by their numbers. */
const compared = {
  to: attempt.meta({ description: 'The attempt whose changes are listed' }),
  from: attempt.optional().meta({
    description:
      'The attempt with which it is compared; by default the files of the same attempt before its first turn',
  }),
}

export const roundRoutes = {
  createRound: {
    method: 'POST',
    path: '/api/rounds',
    summary: 'Give one prompt to several agents or models, each in its own worktree of the same commit',
    scope: 'prompt',
    limits: 'handled',
    body: NewRound,
    reply: Round,
    status: 201,
  },
  listRounds: {
    method: 'GET',
    path: '/api/rounds',
    summary: 'List rounds: the most recently changed first',
    scope: 'read',
    limits: 'handled',
    query: z.object({ project: ProjectId.optional(), limit: limit(100, 20), cursor: z.string().optional() }),
    reply: z.object({ rounds: z.array(Round), cursor: z.string().optional() }),
  },
  getRound: {
    method: 'GET',
    path: '/api/rounds/:id',
    summary: 'Get a round: the state, changes, check, tokens and cost of each attempt',
    scope: 'read',
    limits: 'handled',
    params: byRound,
    reply: Round,
  },
  compareAttempts: {
    method: 'GET',
    path: '/api/rounds/:id/changes',
    summary:
      'List the files in which an attempt differs from another one, or from the commit at which it began',
    scope: 'read',
    limits: 'handled',
    params: byRound,
    query: z.object(compared),
    reply: Changes,
  },
  getAttemptPatch: {
    method: 'GET',
    path: '/api/rounds/:id/changes/patch',
    summary: 'Get the patch of one file in which an attempt differs from another one',
    scope: 'read',
    limits: 'handled',
    params: byRound,
    query: z.object({ ...compared, path: z.string().min(1) }),
    reply: z.object({ patch: z.string(), cut: z.boolean() }),
  },
} as const satisfies Record<string, RouteDefinition>
