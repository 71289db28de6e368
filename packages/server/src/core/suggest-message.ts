import {
  messageInAnswer,
  messageOf,
  ParleyError,
  type SuggestedMessage,
  suggestedMessage,
} from '@parley/protocol'
import { askAside } from './aside.ts'
import { withTimeLimit } from './clock.ts'
import type { SessionContext } from './session-services.ts'

const mostPaths = 200

/** A message for a commit of these files: from the agent or, if it cannot write one, from the title. */
export async function suggestMessage(
  context: SessionContext,
  paths: readonly string[],
  cancel?: AbortSignal,
): Promise<SuggestedMessage> {
  const { adapter, log, services, stopping } = context
  const { title, turn, completedTurns, agent } = log.state
  if (turn)
    throw new ParleyError('conflict', 'A turn is open. Wait until it ends, or cancel it, then commit.')
  const name = adapter?.name ?? agent
  const fallback = (why: string): SuggestedMessage => ({
    message: suggestedMessage(
      title,
      paths.map((path) => ({ path })),
    ),
    by: 'title',
    why,
  })
  if (services.awaits !== undefined || !adapter) return fallback(`${name} is not available here.`)
  if (!adapter.capabilities.aside)
    return fallback(`${name} does not support questions outside the conversation.`)
  if (completedTurns === 0) return fallback(`${name} has done nothing in this session yet.`)
  const { asideMs } = services.limits
  try {
    const answer = await withTimeLimit(services.clock, asideMs, (late) =>
      askAside(context, question(paths), AbortSignal.any([late, stopping, ...(cancel ? [cancel] : [])])),
    )
    const message = messageInAnswer(answer)
    return message === '' ? fallback(`${name} wrote no message.`) : { message, by: 'agent' }
  } catch (error) {
    if (cancel?.aborted || stopping.aborted)
      throw new ParleyError('cancelled', 'The suggestion was cancelled.')
    const isLate = error instanceof DOMException && error.name === 'TimeoutError'
    return fallback(
      isLate ? `${name} took longer than ${asideMs / 1000} s.` : `${name} failed: ${messageOf(error)}`,
    )
  }
}

function question(paths: readonly string[]): string {
  const more = paths.length - mostPaths
  return [
    'Write the message for a git commit of your work in this conversation. The commit contains these files:',
    '',
    ...paths.slice(0, mostPaths).map((path) => `- ${path.replace(/\s/g, ' ')}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
    'Answer with the message alone: a subject of at most 72 characters in the imperative and, only if the reason is not obvious, an empty line and a short text. No quotation marks, no code fence, and no lines such as Co-authored-by. Use no tools: they are refused here.',
  ].join('\n')
}
