import { describe, expect, it } from 'vitest'
import { routes } from './api.ts'
import { ChatRequest } from './chat.ts'

const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }
const least = { id: 'chat 1/x', messages: [message] }

describe('the body of a chat request', () => {
  it('is accepted as the standard transport sends it, whatever its messages contain', () => {
    const sent = {
      ...least,
      messages: [
        message,
        { id: 'a', role: 'assistant', metadata: { any: 1 }, parts: [{ type: 'data-x', data: 1 }] },
      ],
      trigger: 'submit-message',
      messageId: 'a',
      agent: 'demo',
      cwd: '/somewhere',
      mode: 'plan',
      model: 'large',
      permissions: { req_1: { scope: 'session' } },
    }
    expect(ChatRequest.parse(sent)).toEqual(sent)
    expect(ChatRequest.parse(least)).toEqual({ ...least, trigger: 'submit-message' })
  })

  it.each([
    ['an unknown field', { ...least, temperature: 1 }],
    ['no messages', { ...least, messages: [] }],
    ['a message without parts', { ...least, messages: [{ id: 'm1', role: 'user' }] }],
    ['a part without a type', { ...least, messages: [{ ...message, parts: [{}] }] }],
    ['an unknown role', { ...least, messages: [{ ...message, role: 'tool' }] }],
    ['a decision with an unknown field', { ...least, permissions: { r: { colour: 'red' } } }],
  ])('is refused with %s', (_, sent) => {
    expect(ChatRequest.safeParse(sent).success).toBe(false)
  })

  it('defaults to version 6 of the AI SDK', () => {
    expect(routes.chat.query.parse({})).toEqual({ sdk: '6' })
    expect(routes.resumeChat.query.parse({ sdk: '7' })).toEqual({ sdk: '7' })
    expect(routes.chat.query.safeParse({ sdk: '5' }).success).toBe(false)
  })
})
