import { defined, type HandOffSize } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'

type HandOffOptions = Flags & {
  readonly before?: string
  readonly model?: string
  readonly show?: boolean
  readonly json?: boolean
}

/**
 * Creates a session of another agent that continues the work of this session, or shows the text of the
 * hand-off.
 */
export async function handOff(
  reference: string,
  agent: string,
  prompt: string | undefined,
  options: HandOffOptions,
  context: Context,
): Promise<number> {
  const { before, model, show, json } = options
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const { out, err } = context.output
  const sessionId = await findSession(client, reference, context)
  const query = { agent, ...defined({ before, model }) }
  const preview = await client.call('previewHandOff', { params: { id: sessionId }, query })
  if (show) {
    out(json ? `${JSON.stringify(preview)}\n` : `${preview.text}\n`)
    if (!json) err(`${sizeText(preview)}\n`)
    return 0
  }
  const from = { sessionId, ...defined({ before }), upTo: preview.seq }
  const session = await client.createSession({ agent, from, ...defined({ model, prompt }) })
  out(json ? `${JSON.stringify(session)}\n` : `${session.id}\n`)
  if (!json) {
    err(`Handed over ${sessionId} to ${agent}: ${sizeText(preview)}\n`)
    err(`Attach to the new session: ${context.commandLine(`attach ${session.id}`)}\n`)
  }
  return 0
}

function sizeText({ characters, turns, shortened, leftOut }: HandOffSize): string {
  const cut = [shortened > 0 && `${shortened} shortened`, leftOut > 0 && `${leftOut} left out`].filter(
    Boolean,
  )
  const missing = cut.length > 0 ? `, ${cut.join(' and ')}` : ''
  return `${characters} characters, ${turns} ${turns === 1 ? 'turn' : 'turns'}${missing}.`
}
