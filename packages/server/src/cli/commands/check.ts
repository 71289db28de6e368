import { setTimeout as pause } from 'node:timers/promises'
import { checkText, ParleyError, type SessionDetail } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { type Connected, connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { durationText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { exitCodes } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { findSession } from '../session-reference.ts'
import { oneLine, visible } from '../terminal/visible.ts'

export type CheckOptions = Flags & { readonly json?: boolean }

const askedEveryMs = 200

/** Runs the check of a session's project, and waits for its end. The result determines the exit code. */
export async function check(reference: string, options: CheckOptions, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const { output } = context
  const id = await findSession(client, reference, context)
  const { seq } = await client.command(id, { type: 'check.run' })
  using _ = onInterrupt(() => {
    client.command(id, { type: 'check.stop' }).catch(() => undefined)
  })
  const command = (await stateOf(server, id)).checks?.running?.command
  if (command !== undefined) output.err(`${output.errStyle.dim(`check: ${oneLine(command)}`)}\n`)
  const last = await ended(server, id, seq)
  if (options.json) output.out(`${JSON.stringify({ sessionId: id, ...last })}\n`)
  else {
    output.out(visible(last.tail))
    output.err(`${checkText(last)} (${durationText(last.durationMs)})\n`)
  }
  if (last.error) return last.error.code === 'cancelled' ? exitCodes.cancelled : exitCodes.unknown
  return last.exitCode === 0 ? exitCodes.completed : exitCodes.failed
}

async function ended(server: Connected, id: string, since: number) {
  for (;;) {
    const { checks, seq } = await stateOf(server, id)
    if (!checks?.running && checks?.last && seq > since) return checks.last
    if (!checks?.running && seq > since && !checks?.last)
      throw new ParleyError('conflict', 'The check was not recorded. Run it again.')
    await pause(askedEveryMs)
  }
}

function stateOf({ client }: Connected, id: string): Promise<SessionDetail> {
  return client.call('getSession', { params: { id }, query: { tail: 0 } })
}
