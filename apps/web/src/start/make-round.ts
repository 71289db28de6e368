import { newId, ParleyError } from '@parley/protocol'
import { client } from '../base/client.ts'
import type { Attempt } from './attempts.logic.ts'
import { type Asked, type Made, requested } from './make-session.ts'

/** The last request without a reply. The same request again has the same id, so it makes no second round. */
let unanswered: { readonly text: string; readonly commandId: string } | undefined

export async function makeRound(
  given: Omit<Asked, 'trust'> & { readonly attempts: readonly Attempt[] },
): Promise<Made> {
  const { session, worktree, prompt, attempts } = given
  const { cwd, mode } = session
  if (prompt.length === 0)
    throw new ParleyError('validation_error', 'Write the prompt that all attempts get.')
  const round = {
    cwd,
    prompt,
    attempts: attempts.map((attempt) => ({ ...attempt, ...(mode && { mode }) })),
    ...(worktree && requested(worktree)),
  }
  const text = JSON.stringify(round)
  if (unanswered?.text !== text) unanswered = { text, commandId: newId('cmd') }
  const { id } = await client.call('createRound', {
    body: { ...round, commandId: unanswered.commandId },
  })
  unanswered = undefined
  return { route: { name: 'round', id }, cwd }
}
