import { type ChatRequest, ParleyError } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import { SessionFacts } from '../../transcripts/session-facts.ts'
import { TurnChunks } from '../../transcripts/turn-chunks.ts'
import { commandsFor } from './chat-answers.ts'
import { type ChatIntent, placeOf } from './chat-request.ts'
import { findSession } from './chat-session.ts'
import type { ChatResponse } from './response-stream.ts'
import { eventsFrom, turnStart } from './turn-log.ts'

type Asked = { readonly body: ChatRequest; readonly intent: Extract<ChatIntent, { kind: 'answers' }> }

/** Converts the page's answers to commands. The response continues where the page's message ends. */
export async function answer(host: Host, { body, intent }: Asked): Promise<ChatResponse> {
  const { message, given } = intent
  const state = await findSession(host, body.id)
  const start = state && (await turnStart(host, state, message.id))
  if (!state || start === undefined) {
    throw new ParleyError('not_found', 'The answered message is not part of this chat. Reload the chat.', {
      details: { message: message.id },
    })
  }
  const has = placeOf(message)
  if (!has || has.cursor < start || has.cursor > state.seq) {
    throw new ParleyError(
      'conflict',
      'This page has only part of the message that it answers. Resume the chat (resumeStream), then answer.',
    )
  }
  const turn = new TurnChunks(message.id, new SessionFacts(state.id))
  for await (const event of eventsFrom(host, state.id, start)) turn.take(event)
  turn.settle()
  for (const command of commandsFor(given, turn.requests, body.permissions)) {
    await host.command(state.id, command)
  }
  const facts = new SessionFacts(state.id, state)
  return { sessionId: state.id, after: start - 1, facts, target: { turnId: message.id }, has }
}
