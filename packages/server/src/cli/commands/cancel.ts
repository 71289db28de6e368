import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { findSession } from '../session-reference.ts'

/** Asks the turn that runs to stop. */
export async function cancel(reference: string, options: Flags, context: Context): Promise<number> {
  await using server = await connect(configurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  await server.client.cancel(id)
  context.output.err(`Stopping the turn of ${id}.\n`)
  return 0
}
