import { pausedPrompts } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { printResult } from '../terminal/output.ts'

export type CancelOptions = Flags & { readonly tasks?: boolean; readonly json?: boolean }

/** Cancels the running turn and pauses the queue. With --tasks, stops background tasks instead. */
export async function cancel(reference: string, options: CancelOptions, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  if (options.tasks) {
    await server.client.stopTasks(id)
    if (options.json) context.output.out(`${JSON.stringify({ sessionId: id })}\n`)
    context.output.err(`Stopping the background tasks of ${id}.\n`)
    return 0
  }
  await server.client.cancel(id)
  const state = await server.client.call('getSession', { params: { id }, query: { tail: 0 } })
  const paused = pausedPrompts(state)
  if (options.json) context.output.out(`${JSON.stringify({ sessionId: id, paused })}\n`)
  const words = paused > 0 ? ` ${pausedText(paused)} Resume: ${context.commandLine(`resume ${id}`)}` : ''
  context.output.err(`Stopping the turn of ${id}.${words}\n`)
  return 0
}

/** Resumes the queue of a session, so that its paused prompts run. */
export async function resume(
  reference: string,
  options: Flags & { readonly json?: boolean },
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const paused = pausedPrompts(await server.client.call('getSession', { params: { id }, query: { tail: 0 } }))
  await server.client.resumeQueue(id)
  const text = paused > 0 ? `Resumed ${promptText(paused)} of ${id}.` : `No prompt of ${id} is paused.`
  return printResult(context.output, options.json, { value: { sessionId: id, resumed: paused }, text })
}

function pausedText(count: number): string {
  return count === 1 ? '1 queued prompt is paused.' : `${count} queued prompts are paused.`
}

function promptText(count: number): string {
  return count === 1 ? '1 prompt' : `${count} prompts`
}
