import type { ChatRequest, SessionState } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import { SessionFacts } from '../../transcripts/session-facts.ts'
import { cancel } from './cancel.ts'
import { alreadySent, type ChatIntent } from './chat-request.ts'
import { type ChatDefaults, checkSame, createSession, findSession } from './chat-session.ts'
import type { ChatResponse } from './response-stream.ts'
import { hasPrompt } from './turn-log.ts'

type Asked = {
  readonly body: ChatRequest
  readonly intent: Extract<ChatIntent, { kind: 'prompt' }>
  readonly defaults: ChatDefaults
}

/** Submits the page's new message as a prompt, once, however often the page sends it. */
export async function submit(host: Host, { body, intent, defaults }: Asked): Promise<ChatResponse> {
  const { message, parts, isRetry } = intent
  const known = await findSession(host, body.id)
  if (known && isRetry && (await hasPrompt(host, known, message.id))) throw alreadySent()
  if (known) await checkSame(known, body)
  const { id } = known ?? (await createSession(host, body, defaults))
  const before = await host.state(id)
  const command = (name: string) => `chat:${message.id}${name}`
  await configure(host, before, body, command(':configure'))
  const { promptId = '', seq } = await host.command(id, {
    type: 'prompt.submit',
    commandId: command(''),
    messageId: message.id,
    parts,
  })
  const isRepeat = seq <= before.seq
  if (!isRepeat) await giveUpWaiting(host, before, command(':cancel'))
  const facts = new SessionFacts(id, await host.state(id))
  return { sessionId: id, after: seq - 1, facts, target: { promptId } }
}

/** Applies the model and the mode that were sent with a message, if they differ from the current values. */
async function configure(
  host: Host,
  state: SessionState,
  { model, mode }: ChatRequest,
  commandId: string,
): Promise<void> {
  const changed = {
    ...(model !== undefined && model !== state.requested.model && { model }),
    ...(mode !== undefined && mode !== state.requested.mode && { mode }),
  }
  if (Object.keys(changed).length === 0) return
  await host.command(state.id, { type: 'session.configure', commandId, ...changed })
}

/**
 * Cancels a turn that waits for an answer if the page sends a new message instead, because that turn would
 * block the new prompt.
 */
async function giveUpWaiting(host: Host, before: SessionState, commandId: string): Promise<void> {
  if (!before.turn || before.requests.length === 0) return
  const { turn, requests } = await host.state(before.id)
  if (turn?.turnId !== before.turn.turnId || requests.length === 0) return
  // The queue is not paused, so that the message just queued runs next.
  await cancel(host, before.id, { turnId: turn.turnId, commandId, pauseQueue: false })
}
