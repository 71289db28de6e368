import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type CommandOf,
  type HandOffPreview,
  type HandOffQuery,
  handOffFileName,
  ParleyError,
  type PromptPart,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
} from '@parley/protocol'
import type { HandOff, HandOffOptions } from './hand-off-writer.ts'
import { readEvents } from './read-events.ts'
import type { SessionServices } from './session-services.ts'
import type { SessionStore } from './session-store.ts'

const maxBudget = 96_000
const minBudget = 4_000
const pageSize = 1_000
/** The number of the agent's latest sessions that are searched for the context window of a model. */
const sessionsSearched = 10

type Told = Pick<SessionServices, 'store' | 'adapters' | 'writeHandOff'>

/** The part of a session that a hand-off contains, the agent that gets it, and the reason. */
export type Telling = Omit<HandOffQuery, 'agent'> &
  Pick<HandOffOptions, 'reason' | 'folder'> & {
    readonly agent: Pick<AgentAdapter, 'id' | 'capabilities'>
  }

/** Writes the hand-off of a session for an agent. */
export async function tellSession(
  { store, adapters, writeHandOff }: Told,
  { id, seq }: Pick<SessionState, 'id' | 'seq'>,
  { agent, model, before, upTo = seq, reason, folder }: Telling,
): Promise<HandOff & Pick<HandOffPreview, 'budget'>> {
  if (!writeHandOff) throw new ParleyError('not_supported', 'This host cannot hand over sessions.')
  const budget = handOffBudget(await contextWindowOf(store, agent.id, model))
  const agentName = (name: string) => adapters.get(name)?.name ?? name
  const takesImages = agent.capabilities.images
  const events = await eventsUpTo(store, id, before === undefined ? Math.min(seq, upTo) : seq)
  return {
    ...(await writeHandOff(events, { before, reason, agentName, budget, takesImages, folder })),
    budget,
  }
}

/** The parts of a prompt that give an agent the hand-off of a session. */
export function handOffParts(
  { text, attached }: Pick<HandOff, 'text' | 'attached'>,
  sessionId: string,
  { capabilities }: Pick<AgentAdapter, 'capabilities'>,
): PromptPart[] {
  const context: PromptPart = capabilities.files
    ? { type: 'file', name: handOffFileName, mimeType: 'text/markdown', text, handOff: sessionId }
    : { type: 'text', text, handOff: sessionId }
  return [context, ...attached]
}

/**
 * The maximum length of a hand-off for a model with this context window, in tokens: a quarter of the window, at four
 * characters per token.
 */
export function handOffBudget(contextWindow = maxBudget): number {
  return Math.max(minBudget, Math.min(maxBudget, contextWindow))
}

async function eventsUpTo(
  store: SessionStore,
  sessionId: string,
  seq: number,
): Promise<(SessionEvent | UnknownEvent)[]> {
  const events: (SessionEvent | UnknownEvent)[] = []
  for (let after = 0; after < seq; ) {
    const page = await readEvents(store, sessionId, { after, limit: Math.min(pageSize, seq - after) })
    for (const { json } of page) events.push(JSON.parse(json))
    const last = page.at(-1)
    if (!last) break
    after = last.seq
  }
  return events
}

/** The context window of a model, or of the default model, as the agent last reported it. */
async function contextWindowOf(
  store: SessionStore,
  agent: string,
  model: string | undefined,
): Promise<number | undefined> {
  const { sessions } = await store.list({ agent, limit: sessionsSearched })
  for (const { id } of sessions) {
    const { connection, usage } = (await store.load(id))?.state ?? {}
    const known = connection?.models?.find(({ id, resolvesTo, isDefault }) =>
      model === undefined ? isDefault : id === model || resolvesTo === model,
    )
    const used = model === undefined || connection?.model === model ? usage?.context.window : undefined
    const window = known?.contextWindow ?? used
    if (window !== undefined) return window
  }
  return undefined
}

/** The id of the command that records in the earlier session which session continues its work. */
export function handOverId(into: string): string {
  return `hand-over:${into}`
}

/**
 * Returns the agent of the session that continues the work. Throws ParleyError unless that session exists and names
 * this session as its origin: a recorded hand-off always refers to an existing session. The error for a session with
 * another origin is the one for an unknown session, because the caller may not be permitted to know that it exists.
 */
export async function agentContinuing(
  store: Pick<SessionStore, 'load'>,
  sessionId: string,
  { into, commandId }: CommandOf<'session.hand-over'>,
): Promise<string> {
  if (commandId !== handOverId(into))
    throw new ParleyError('validation_error', `The commandId of this command must be ${handOverId(into)}.`)
  const child = (await store.load(into))?.state
  if (child?.handedFrom?.sessionId === sessionId) return child.agent
  const message = `There is no session ${into} that continues this session. Create that session with the field "from".`
  throw new ParleyError('not_found', message)
}
