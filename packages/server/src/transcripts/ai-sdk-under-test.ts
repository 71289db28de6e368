import type { UIMessageChunk as Chunk6 } from 'ai6'
import type { UIMessageChunk as Chunk7 } from 'ai7'
import { ai6, ai7 } from './ai-sdk-modules-under-test.ts'
import type { UiChunk } from './ui-chunk.ts'
import type { UiMessage } from './ui-message.ts'

/**
 * The real readers of both major versions of the AI SDK, for tests: the chunks that they accept, and the messages
 * that they fold.
 */
export const sdks = [6, 7] as const
export type Sdk = (typeof sdks)[number]

/** The fields of version 6.0.0. Its readers refuse every other field, and so did the first readers of version 7. */
const oldest: Record<string, readonly string[]> = {
  start: ['messageId', 'messageMetadata'],
  'message-metadata': ['messageMetadata'],
  finish: ['finishReason', 'messageMetadata'],
  abort: [],
  error: ['errorText'],
  'start-step': [],
  'finish-step': [],
  'text-start': ['id', 'providerMetadata'],
  'text-delta': ['id', 'delta', 'providerMetadata'],
  'text-end': ['id', 'providerMetadata'],
  'reasoning-start': ['id', 'providerMetadata'],
  'reasoning-delta': ['id', 'delta', 'providerMetadata'],
  'reasoning-end': ['id', 'providerMetadata'],
  file: ['url', 'mediaType', 'providerMetadata'],
  'tool-input-start': ['toolCallId', 'toolName', 'providerExecuted', 'dynamic', 'title'],
  'tool-input-delta': ['toolCallId', 'inputTextDelta'],
  'tool-input-available': [
    'toolCallId',
    'toolName',
    'input',
    'providerExecuted',
    'providerMetadata',
    'dynamic',
    'title',
  ],
  'tool-input-error': [
    'toolCallId',
    'toolName',
    'input',
    'providerExecuted',
    'providerMetadata',
    'dynamic',
    'errorText',
    'title',
  ],
  'tool-approval-request': ['approvalId', 'toolCallId'],
  'tool-output-available': ['toolCallId', 'output', 'providerExecuted', 'dynamic', 'preliminary'],
  'tool-output-error': ['toolCallId', 'errorText', 'providerExecuted', 'dynamic'],
  'tool-output-denied': ['toolCallId'],
}

/**
 * The reason why readers of this major version, or its oldest release, refuse the chunk; undefined if they accept it.
 */
export async function refusalOf(chunk: UiChunk, sdk: Sdk): Promise<string | undefined> {
  const sent = JSON.parse(JSON.stringify(chunk)) as UiChunk
  const schema = sdk === 6 ? ai6.uiMessageChunkSchema() : ai7.uiMessageChunkSchema()
  const result = await schema.validate?.(sent)
  if (!result?.success) return `${sdk}: ${JSON.stringify(sent)}`
  if (chunk.type.startsWith('data-')) return unknownField(sent, ['id', 'data', 'transient'])
  if (sdk === 7 && chunk.type === 'tool-approval-response') return undefined
  return unknownField(sent, oldest[chunk.type] ?? [])
}

function unknownField(chunk: UiChunk, known: readonly string[]): string | undefined {
  const stranger = Object.keys(chunk).find((name) => name !== 'type' && !known.includes(name))
  return stranger && `6.0.0 does not know ${stranger} in ${JSON.stringify(chunk)}`
}

/** The reason why a major version refuses these messages as the initial messages of a page; undefined if none does. */
export async function refusalOfMessages(messages: readonly UiMessage[]): Promise<string | undefined> {
  const checks = [ai6.safeValidateUIMessages({ messages }), ai7.safeValidateUIMessages({ messages })]
  for (const check of await Promise.all(checks)) if (!check.success) return check.error.message
  return undefined
}

/**
 * The message that this major version reads from the chunks; it continues `message` if a page already has that message.
 */
export async function readMessage(
  chunks: readonly UiChunk[],
  sdk: Sdk,
  message?: UiMessage,
): Promise<UiMessage | undefined> {
  const problems: unknown[] = []
  const options = {
    stream: streamOf(chunks),
    terminateOnError: false,
    onError: (error: unknown) => void problems.push(error),
    ...(message && { message: structuredClone(message) }),
  }
  const messages = (
    sdk === 6
      ? ai6.readUIMessageStream(options as unknown as Parameters<typeof ai6.readUIMessageStream>[0])
      : ai7.readUIMessageStream(options as unknown as Parameters<typeof ai7.readUIMessageStream>[0])
  ) as AsyncIterable<unknown>
  let last: unknown
  for await (const one of messages) last = one
  const errors = problems.filter((one) => !isSent(one, chunks))
  if (errors.length > 0) throw errors[0]
  return last === undefined ? message : plain(last as UiMessage)
}

/**
 * True if the reader's error is the text of an error chunk. Such an error is expected: readers report every error
 * chunk as an error.
 */
function isSent(problem: unknown, chunks: readonly UiChunk[]): boolean {
  const text = problem instanceof Error ? problem.message : String(problem)
  return chunks.some((chunk) => chunk.type === 'error' && chunk.errorText === text)
}

function streamOf(chunks: readonly UiChunk[]): ReadableStream<UiChunk> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(plain(chunk))
      controller.close()
    },
  })
}

/** The value as it crosses the wire. */
export function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value
}

/** The compiler checks that Parley's chunks are chunks of both major versions. */
export function asChunk6(chunk: Exclude<UiChunk, { type: 'tool-approval-response' }>): Chunk6 {
  return chunk
}
export function asChunk7(chunk: UiChunk): Chunk7 {
  return chunk
}
