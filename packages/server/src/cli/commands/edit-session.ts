import { defined, ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { printResult } from '../terminal/output.ts'
import { oneLine } from '../terminal/visible.ts'

type ForkOptions = EditOptions & {
  readonly before?: string
  readonly title?: string
  readonly worktree?: boolean
  readonly branch?: string
}
type EditOptions = Flags & { readonly json?: boolean }
type Patch = { readonly title: string } | { readonly archived: boolean } | { readonly pinned: boolean }

export function rename(reference: string, title: string, options: EditOptions, context: Context) {
  return patch(reference, { title }, options, context)
}

export function archive(reference: string, options: EditOptions, context: Context) {
  return patch(reference, { archived: true }, options, context)
}

export function unarchive(reference: string, options: EditOptions, context: Context) {
  return patch(reference, { archived: false }, options, context)
}

export function pin(reference: string, options: EditOptions, context: Context) {
  return patch(reference, { pinned: true }, options, context)
}

export function unpin(reference: string, options: EditOptions, context: Context) {
  return patch(reference, { pinned: false }, options, context)
}

async function patch(reference: string, body: Patch, options: EditOptions, context: Context) {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const session = await server.client.call('patchSession', { params: { id }, body })
  return printResult(context.output, options.json, { value: session, text: patchText(id, body, context) })
}

function patchText(id: string, body: Patch, { commandLine }: Context): string {
  if ('title' in body) return `Renamed ${id} to ${oneLine(body.title)}.`
  if ('pinned' in body)
    return body.pinned ? `Pinned ${id}. Undo: ${commandLine(`unpin ${id}`)}` : `Unpinned ${id}.`
  if (!body.archived) return `Unarchived ${id}.`
  return `Archived ${id}. Undo: ${commandLine(`unarchive ${id}`)}`
}

/** Forks a session: from its end, or from the state before one of its prompts. */
export async function fork(reference: string, options: ForkOptions, context: Context): Promise<number> {
  const { before, title, worktree, branch, json } = options
  if (branch !== undefined && !worktree)
    throw new ParleyError('validation_error', 'A branch is made only with --worktree.')
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const fields = { ...defined({ before, title }), ...(worktree && { worktree: defined({ branch }) }) }
  const { sessionId } = await server.client.fork(id, fields)
  if (json) {
    const params = { id: sessionId }
    const state = await server.client.call('getSession', { params, query: { tail: 0 } })
    context.output.out(`${JSON.stringify(state)}\n`)
    return 0
  }
  context.output.out(`${sessionId}\n`)
  context.output.err(`Forked ${id}. Attach to the fork: ${context.commandLine(`attach ${sessionId}`)}\n`)
  return 0
}
