import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { oneLine } from '../terminal/visible.ts'

/** Releases the agent's process and prints the command that continues the conversation in the agent's own program. */
export async function release(
  reference: string,
  options: Flags & { readonly json?: boolean },
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  await server.client.release(id)
  const { terminal, cwd } = await server.client.call('getSession', { params: { id }, query: { tail: 0 } })
  const { output } = context
  if (options.json) {
    output.out(`${JSON.stringify({ sessionId: id, cwd, ...(terminal && { terminal }) })}\n`)
    return 0
  }
  if (!terminal) {
    output.err(`Released ${id}. Its agent has no program in which you can continue it.\n`)
    return 0
  }
  output.err(`To continue, run in ${oneLine(cwd)}:\n`)
  output.out(`${terminal.map((one) => oneLine(one)).join(' ')}\n`)
  output.err(`Released ${id}. Messages that you send there are added to the session before its next turn.\n`)
  return 0
}
