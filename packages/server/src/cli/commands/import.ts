import { resolve } from 'node:path'
import type { AgentConversation } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type ImportOptions = Flags & { readonly cwd?: string; readonly json?: boolean }

const columns = [
  { name: 'ID' },
  { name: 'AGE' },
  { name: 'FOLDER', shrinks: true },
  { name: 'TITLE', shrinks: true },
]

/** Lists the conversations that an agent has stored, or imports one of them as a session. */
export async function importConversation(
  agent: string,
  agentSessionId: string | undefined,
  options: ImportOptions,
  context: Context,
): Promise<number> {
  const isListing = agentSessionId === undefined
  const configuration = (isListing ? existingConfigurationOf : configurationOf)(context, options)
  await using server = await connect(configuration, context)
  const { output, commandLine } = context
  if (agentSessionId !== undefined) {
    const body = { agent, agentSessionId }
    const session = await server.client.call('importConversation', { body })
    if (options.json) output.out(`${JSON.stringify(session)}\n`)
    else output.out(`${session.id}\n`)
    output.err(`Imported. To continue it: ${commandLine(`run --session ${session.id} "…"`)}\n`)
    return 0
  }
  const { conversations } = await server.client.call('listConversations', {
    params: { id: agent },
    query: { ...(options.cwd !== undefined && { cwd: resolve(context.cwd, options.cwd) }) },
  })
  const where = options.cwd === undefined ? '' : ' from that folder'
  const empty = `${agent} has no conversations to import${where}.`
  if (printList(conversations, { columns, row: rowOf, empty }, { json: options.json, output }))
    output.err(`To import one as a session: ${commandLine(`import ${agent} <id>`)}\n`)
  return 0
}

function rowOf({ agentSessionId, updatedAt, cwd, title, sessionId }: AgentConversation): string[] {
  const known = sessionId === undefined ? '' : ` (session ${sessionId})`
  return [agentSessionId, ageText(Date.now() - updatedAt), oneLine(cwd), `${oneLine(title)}${known}`]
}
