import { z } from 'zod'
import { ChatId, ChatRequest, ChatSdk, UiMessage } from './chat.ts'
import { NoContent, type RouteDefinition } from './route.ts'

const byChat = z.object({ id: ChatId })

export const chatRoutes = {
  chat: {
    method: 'POST',
    path: '/api/chat',
    summary:
      'Send a prompt or answers from a DefaultChatTransport of the AI SDK; the response is a UI message stream',
    scope: ['prompt', 'read'],
    limits: 'handled',
    query: z.object({ sdk: ChatSdk.default('6') }),
    body: ChatRequest,
    reply: z.string(),
    also: ['text/event-stream'],
  },
  resumeChat: {
    method: 'GET',
    path: '/api/chat/:id/stream',
    summary: 'Resume the current response from its start, as a UI message stream; 204 if there is none',
    scope: 'read',
    limits: 'handled',
    params: byChat,
    query: z.object({ sdk: ChatSdk.default('6') }),
    reply: z.string(),
    also: ['text/event-stream'],
  },
  stopChat: {
    method: 'POST',
    path: '/api/chat/:id/stop',
    summary: 'Cancel the running turn, if there is one',
    scope: ['prompt', 'read'],
    limits: 'handled',
    params: byChat,
    reply: NoContent,
  },
  chatMessages: {
    method: 'GET',
    path: '/api/chat/:id/messages',
    summary: 'Get a chat as UI messages; an unknown chat has none',
    scope: 'read',
    limits: 'handled',
    params: byChat,
    reply: z.array(UiMessage),
  },
} as const satisfies Record<string, RouteDefinition>
