import type { ModelAnswer } from './model-server.ts'

/** Answers of a scripted model that many tests use. */

export function call(name: string, input: unknown, id = 'toolu_a'): ModelAnswer {
  return { toolCalls: [{ name, id, arguments: JSON.stringify(input) }] }
}

export const done: ModelAnswer = { content: 'That is done.' }

/** An image for a prompt, as base64. */
export const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
