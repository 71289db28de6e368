import type { OpencodeClient, Session } from '@opencode-ai/sdk/v2/client'
import { ParleyError, type TokenUsage } from '@parley/protocol'
import type { ConnectInput } from '../../core/agent-adapter.ts'
import { sumTokens } from '../translation.ts'
import { endsWith, type NativeRule } from './rules.ts'
import { tokensOf } from './translate-usage.ts'
import { oldestVersion } from './version.ts'

const thrown = { throwOnError: true } as const

/**
 * The OpenCode session of a connection: a new one, a resumed one, or a fork. In any case it has our rules before the
 * first prompt.
 */
export async function openConversation(
  client: OpencodeClient,
  { resume, sessionId }: Pick<ConnectInput, 'resume' | 'sessionId'>,
  rules: NativeRule[],
): Promise<Session> {
  const known = resume && (await find(client, resume.agentSessionId))
  if (!known) {
    if (resume && resume.turns > 0) throw forgotten(resume.agentSessionId)
    // With a title given, OpenCode does not ask a model for one: the host has its own.
    const { data } = await client.session.create({ title: `Parley ${sessionId}`, permission: rules }, thrown)
    return applyRules(client, data.id, rules)
  }
  const { data } = resume.fork ? await client.session.fork({ sessionID: known.id }, thrown) : { data: known }
  return applyRules(client, data.id, rules)
}

/**
 * Sets the rules of a session. OpenCode appends rules, and the last match applies, also one that another program
 * added. The result is read back, since without our rules OpenCode would run everything without asking. Rejects if the
 * rules were not accepted.
 */
export async function applyRules(
  client: OpencodeClient,
  sessionID: string,
  rules: NativeRule[],
): Promise<Session> {
  const { data: session } = await client.session.get({ sessionID }, thrown)
  if (endsWith(session.permission ?? [], rules)) return session
  await client.session.update({ sessionID, permission: rules }, thrown)
  const { data: updated } = await client.session.get({ sessionID }, thrown)
  if (endsWith(updated.permission ?? [], rules)) return updated
  throw new ParleyError('agent_failed', rulesNotTaken, { details: { version: updated.version } })
}

const rulesNotTaken = `OpenCode did not take the rules by which it asks before it acts, so nothing is sent to it. Install another version: ${oldestVersion} is known to take them.`

/** The usage of a session so far, including its subagents. */
export async function usageOf(
  client: OpencodeClient,
  session: Session,
): Promise<{ total: TokenUsage; costUsd: number }> {
  const { data: children } = await client.session.children({ sessionID: session.id }, thrown)
  return [session, ...children].reduce(
    (used, { tokens, cost = 0 }) => ({
      total: tokens ? sumTokens(used.total, tokensOf(tokens)) : used.total,
      costUsd: used.costUsd + cost,
    }),
    { total: { input: 0, output: 0 } as TokenUsage, costUsd: 0 },
  )
}

async function find(client: OpencodeClient, sessionID: string): Promise<Session | undefined> {
  const { data, error, response } = await client.session.get({ sessionID })
  if (data) return data
  if (response?.status === 404) return undefined
  throw error
}

function forgotten(agentSessionId: string): ParleyError {
  const message = `OpenCode no longer has the conversation ${agentSessionId}. Begin a new session.`
  return new ParleyError('agent_failed', message)
}
