import type { OpencodeClient, Session } from '@opencode-ai/sdk/v2/client'
import type { ConnectInput } from '@parley/adapter-kit'
import { noTokens, sumTokens } from '@parley/adapter-kit/translation'
import { ParleyError, type TokenUsage } from '@parley/protocol'
import { thrown } from './native.ts'
import { endsWith, type NativeRule, sessionRules } from './rules.ts'
import { type Advice, oldestVersion, readServerInfo, type ServerInfo } from './server-info.ts'
import { agentFor } from './settings.ts'
import { tokensOf } from './translate-usage.ts'

/** An open OpenCode session, and the data that the server reported about it. */
export type Conversation = {
  readonly info: ServerInfo
  readonly session: Session
  /** The usage so far, including subagents. */
  readonly used: { readonly total: TokenUsage; readonly costUsd: number }
}

/**
 * Opens the OpenCode session of a connection: a new one, a resumed one, or a fork. Our rules are set before the first
 * prompt in all three cases.
 */
export async function openConversation(
  client: OpencodeClient,
  input: ConnectInput,
  advice: Advice,
): Promise<Conversation> {
  const { model, mode } = input.settings
  const info = await readServerInfo(client, model, advice)
  const rules = sessionRules(agentFor(info, mode), info.unasked)
  const { id } = await findOrCreate(client, input, rules)
  const session = await applyRules(client, id, rules)
  return { info, session, used: await usageOf(client, session) }
}

async function findOrCreate(
  client: OpencodeClient,
  { resume, sessionId }: ConnectInput,
  rules: NativeRule[],
): Promise<Session> {
  const known = resume && (await find(client, resume.agentSessionId))
  if (!known) {
    if (resume && resume.turns > 0) throw forgotten(resume.agentSessionId)
    // Sets a title, so that OpenCode does not request one from a model: the host has its own titles.
    const { data } = await client.session.create({ title: `Parley ${sessionId}`, permission: rules }, thrown)
    return data
  }
  if (!resume.fork) return known
  const place = resume.before && { messageID: await firstOf(client, known.id, resume.before) }
  const { data } = await client.session.fork({ sessionID: known.id, ...place }, thrown)
  return data
}

/** The first message of the session that is one of these prompts. */
async function firstOf(
  client: OpencodeClient,
  sessionID: string,
  prompts: readonly string[],
): Promise<string> {
  const { data } = await client.session.messages({ sessionID }, thrown)
  const first = data.find(({ info }) => prompts.includes(info.id))
  if (first) return first.info.id
  const message =
    'OpenCode does not have the prompt before which this session was forked, so the conversation cannot be forked there. Fork the original session before another prompt.'
  throw new ParleyError('agent_failed', message, { details: { agentSessionId: sessionID } })
}

/**
 * Sets the rules of a session. OpenCode appends rules, and the last matching rule applies, even if another program
 * added it. The result is read back, since without our rules OpenCode would run everything without asking. Rejects if
 * the rules were not accepted.
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
  throw new ParleyError('agent_failed', rulesNotAccepted, { details: { version: updated.version } })
}

const rulesNotAccepted = `OpenCode did not accept the rules that make it ask for permission, so no prompt is sent to it. Install another version: ${oldestVersion} is known to accept them.`

async function usageOf(client: OpencodeClient, session: Session): Promise<Conversation['used']> {
  const { data: children } = await client.session.children({ sessionID: session.id }, thrown)
  return [session, ...children].reduce(
    (used, { tokens, cost = 0 }) => ({
      total: tokens ? sumTokens(used.total, tokensOf(tokens)) : used.total,
      costUsd: used.costUsd + cost,
    }),
    { total: noTokens, costUsd: 0 },
  )
}

async function find(client: OpencodeClient, sessionID: string): Promise<Session | undefined> {
  const { data, error, response } = await client.session.get({ sessionID })
  if (data) return data
  if (response?.status === 404) return undefined
  throw error
}

function forgotten(agentSessionId: string): ParleyError {
  const message = `OpenCode no longer has the conversation ${agentSessionId}. Start a new session.`
  return new ParleyError('agent_failed', message)
}
