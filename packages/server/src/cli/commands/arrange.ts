import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { findSession } from '../session-reference.ts'
import { oneLine } from '../terminal/visible.ts'

export type ArrangeOptions = Flags & { readonly json?: boolean }
export type ForkOptions = ArrangeOptions & { readonly title?: string }

type Patch = { readonly title: string } | { readonly archived: boolean }

/** Renames, archives or unarchives a session. */
export async function patchSession(
  reference: string,
  patch: Patch,
  options: ArrangeOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(configurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const session = await server.client.call('patchSession', { params: { id }, body: patch })
  if (options.json) context.output.out(`${JSON.stringify(session)}\n`)
  else context.output.err(`${words(id, patch, context)}\n`)
  return 0
}

function words(id: string, patch: Patch, { commandLine }: Context): string {
  if ('title' in patch) return `Renamed ${id} to ${oneLine(patch.title)}.`
  if (!patch.archived) return `Unarchived ${id}.`
  return `Archived ${id}. Undo: ${commandLine(`unarchive ${id}`)}`
}

/** Creates a session that continues from the end of this one. */
export async function fork(reference: string, options: ForkOptions, context: Context): Promise<number> {
  const { title, json } = options
  await using server = await connect(configurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const { sessionId } = await server.client.fork(id, { ...(title !== undefined && { title }) })
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
