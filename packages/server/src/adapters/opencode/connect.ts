import { ParleyError } from '@parley/protocol'
import type { AgentConnection, ConnectInput } from '../../core/agent-adapter.ts'
import type { RewindKeeper } from '../rewind.ts'
import { unlessAborted } from '../within.ts'
import { OpenCodeConnection } from './connection.ts'
import { openConversation, usageOf } from './conversation.ts'
import { introductionOf } from './introduction.ts'
import { agentFor } from './outgoing.ts'
import { sessionRules } from './rules.ts'
import type { SharedServer } from './server.ts'
import type { Advice } from './version.ts'
import { wordsOf } from './words-of.ts'

/** Opens a conversation on a server, and releases the server if that fails. */
export async function connectOpenCode(
  shared: SharedServer,
  input: ConnectInput,
  advice: Advice,
  keeper: RewindKeeper,
): Promise<AgentConnection> {
  const { server, release } = shared
  try {
    return await unlessAborted(
      open(shared, input, advice, keeper),
      input.signal,
      'Cancelled while OpenCode was started.',
    )
  } catch (error) {
    const { stderrTail } = server.lastWords()
    if (input.signal.aborted) server.doubt()
    await release()
    if (error instanceof ParleyError) throw error
    throw new ParleyError('agent_failed', `OpenCode could not open the conversation: ${wordsOf(error)}`, {
      details: { ...(stderrTail !== undefined && { stderrTail }) },
      cause: error,
    })
  }
}

async function open(
  shared: SharedServer,
  input: ConnectInput,
  advice: Advice,
  keeper: RewindKeeper,
): Promise<AgentConnection> {
  const client = shared.server.client(input.cwd)
  const introduction = await introductionOf(client, input.settings.model, advice)
  const rules = sessionRules(agentFor(introduction, input.settings.mode), introduction.unasked)
  const session = await openConversation(client, input, rules)
  const used = await usageOf(client, session)
  const connection = new OpenCodeConnection(shared, input, { client, introduction, session, used, keeper })
  const abandon = () => void connection.close()
  input.signal.addEventListener('abort', abandon, { once: true })
  try {
    if (input.signal.aborted) {
      await connection.close()
      throw new ParleyError('cancelled', 'Cancelled while OpenCode opened the conversation.')
    }
    await connection.start()
    return connection
  } finally {
    input.signal.removeEventListener('abort', abandon)
  }
}
