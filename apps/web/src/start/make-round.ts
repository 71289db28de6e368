import { ParleyError } from '@parley/protocol'
import { client } from '../base/client.ts'
import type { Attempt } from './attempts.logic.ts'
import { type Asked, type Made, requested } from './make-session.ts'

export async function makeRound(
  given: Omit<Asked, 'trust'> & { readonly attempts: readonly Attempt[] },
): Promise<Made> {
  const { session, worktree, prompt, attempts } = given
  const { cwd, mode } = session
  if (prompt.length === 0)
    throw new ParleyError('validation_error', 'Write the prompt that all attempts get.')
  const { id } = await client.call('createRound', {
    body: {
      cwd,
      prompt,
      attempts: attempts.map((attempt) => ({ ...attempt, ...(mode && { mode }) })),
      ...(worktree && requested(worktree)),
    },
  })
  return { route: { name: 'round', id }, cwd }
}
