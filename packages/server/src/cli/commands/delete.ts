import { ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { onInterrupt } from '../interrupts.ts'
import { findSession } from '../session-reference.ts'
import { Screen } from '../terminal/screen.ts'
import { oneLine } from '../terminal/visible.ts'

export type DeleteOptions = Flags & { readonly yes?: boolean; readonly json?: boolean }

/** Deletes a session and all its events, after a confirmation. */
export async function deleteSession(
  reference: string,
  options: DeleteOptions,
  context: Context,
): Promise<number> {
  const { output } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  if (!options.yes && !output.canAsk) {
    throw new ParleyError('validation_error', 'Not a terminal: pass --yes to confirm the deletion.')
  }
  const { title } = await server.client.call('getSession', { params: { id }, query: { tail: 0 } })
  if (
    !options.yes &&
    !(await confirmed(`Delete ${id} (${oneLine(title) || 'untitled'}) for good? y/N `, context))
  ) {
    output.err('Nothing was deleted.\n')
    return 1
  }
  await server.client.call('deleteSession', { params: { id } })
  if (options.json) output.out(`${JSON.stringify({ sessionId: id })}\n`)
  output.err(`Deleted ${id}.\n`)
  return 0
}

async function confirmed(question: string, { stdin, output }: Context): Promise<boolean> {
  const leaving = new AbortController()
  using interrupts = onInterrupt(() => leaving.abort())
  const screen = new Screen({ stdin, stderr: process.stderr, output, onInterrupt: interrupts.interrupt })
  try {
    const line = await screen.ask(async (keyboard) => {
      await keyboard.draw([])
      return keyboard.line(question, leaving.signal)
    })
    return /^y(es)?$/i.test(line?.trim() ?? '')
  } catch {
    return false
  }
}
