import { ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'

/** Removes the content of one event for good. */
export async function redact(
  reference: string,
  given: string,
  options: Flags & { readonly reason?: string; readonly yes?: boolean; readonly json?: boolean },
  context: Context,
): Promise<number> {
  const { reason } = options
  const seq = Number(given)
  if (!Number.isSafeInteger(seq) || seq < 1)
    throw new ParleyError(
      'validation_error',
      `Give the event as the number of its line in an export, not "${given}".`,
    )
  if (reason === undefined || reason.trim() === '')
    throw new ParleyError(
      'validation_error',
      'Give the reason with --reason. The reason stays in the log, so it must not repeat the content.',
    )
  if (!options.yes)
    throw new ParleyError(
      'validation_error',
      'A redaction cannot be undone. Add --yes to confirm. Forks, backups and the agent’s own files keep the content.',
    )
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  await server.client.call('redactEvent', { params: { id, seq }, body: { reason } })
  if (options.json) context.output.out(`${JSON.stringify({ sessionId: id, seq })}\n`)
  else context.output.err(`Redacted: event ${seq} of ${id}\n`)
  return 0
}
