import type { AgentAdapter, AgentConnection, ConnectInput, Person } from '@parley/adapter-kit'
import { type DraftOf, ParleyError, type SessionState } from '@parley/protocol'
import { resumption, startWithin } from './connect-agent.ts'
import { environmentFor, type SessionContext } from './session-services.ts'

/** The maximum number of requests that the agent may send to its model. Each refused call leads to another request. */
const mostRequests = 5
const longestAnswer = 100_000

/**
 * Asks the agent of a session in a copy of its conversation that is stored nowhere, and returns the text of the answer.
 * The copy loads nothing from the folder, and every call of it is refused. Nothing is recorded.
 */
export async function askAside(context: SessionContext, text: string, signal: AbortSignal): Promise<string> {
  const { services, adapter, log } = context
  const { state } = log
  const { resume } = adapter ? resumption(adapter, state) : {}
  if (!adapter?.capabilities.aside || !resume)
    throw new ParleyError('not_supported', 'The agent has no conversation that could be copied.')
  const release = await services.slots.acquire({ idleSince: () => undefined, yieldSlot() {} }, signal)
  try {
    const connection = await startWithin(context, adapter, {
      sessionId: state.id,
      connectionId: services.ids('con'),
      cwd: state.cwd,
      settings: settingsFor(adapter, state),
      trusted: false,
      ...environmentFor(services, adapter, state),
      resume: { ...resume, fork: true, temporary: true },
      person: nobody,
      signal,
    })
    const prompt = { promptId: services.ids('prm'), parts: [{ type: 'text' as const, text }] }
    return await answerOf(connection, { ...prompt, delivery: 'queue', at: services.clock.now() }, signal)
  } finally {
    release()
  }
}

/** The settings of the session, without the permissions of its mode and without a form for the answer. */
function settingsFor({ options: honoured = [] }: AgentAdapter, { requested }: SessionState) {
  const { outputSchema: _, ...options } = requested.options ?? {}
  const limit = honoured.includes('maxTurns') ? { maxTurns: mostRequests } : {}
  return { ...requested, mode: 'read-only', options: { ...options, ...limit } } as ConnectInput['settings']
}

/** Refuses every call, and answers no question. */
const nobody: Person = {
  forbids: () => true,
  permit: async () => ({
    outcome: 'denied',
    requestId: 'aside',
    message: 'No tool can be used here. Answer from what you know.',
  }),
  answer: async () => ({ outcome: 'cancelled', requestId: 'aside' }),
}

type Ended = Omit<DraftOf<'turn.ended'>, 'durationMs' | 'turnId'>

/** Sends the prompt and returns the text after the last call. The connection is closed when this settles. */
async function answerOf(
  connection: AgentConnection,
  prompt: Parameters<AgentConnection['send']>[0]['prompt'],
  signal: AbortSignal,
): Promise<string> {
  const { promise: over, resolve: end } = Promise.withResolvers<Ended | undefined>()
  const stop = () => end(undefined)
  signal.addEventListener('abort', stop, { once: true })
  const answer: string[] = []
  // Outputs that cannot be read end the turn without an answer.
  const reading = readTurn(connection, answer, end)
    .catch(() => undefined)
    .finally(stop)
  try {
    if (signal.aborted) stop()
    await Promise.race([connection.send({ type: 'prompt', prompt }), over])
    const ended = await over
    if (signal.aborted) throw signal.reason
    if (ended?.outcome === 'completed') return answer.join('\n\n')
    throw new ParleyError('agent_failed', ended?.error?.message ?? 'The agent ended without an answer.')
  } finally {
    signal.removeEventListener('abort', stop)
    await connection.close().catch(() => undefined)
    await reading
  }
}

/** Reads the outputs to their end, as an adapter requires. */
async function readTurn(
  { events }: AgentConnection,
  answer: string[],
  end: (ended: Ended) => void,
): Promise<void> {
  let length = 0
  for await (const output of events) {
    if (output.type === 'turn.ended') end(output)
    if (output.type === 'tool-call.called') answer.length = 0
    if (output.type !== 'text.written' || output.parentToolCallId !== undefined) continue
    length += output.text.length
    if (length <= longestAnswer) answer.push(output.text)
  }
}
