import {
  type ChatRequest,
  ParleyError,
  type PromptPart,
  PromptSubmit,
  type UiMessage,
  validationError,
} from '@parley/protocol'
import { z } from 'zod'

/** The purpose of a chat request: a new prompt, or answers to the requests of a turn. */
export type ChatIntent =
  | {
      readonly kind: 'prompt'
      readonly message: UiMessage
      readonly parts: PromptPart[]
      /** True for `regenerate-message`, which is accepted only if the message never reached the server. */
      readonly isRetry: boolean
    }
  | { readonly kind: 'answers'; readonly message: UiMessage; readonly given: GivenAnswer[] }

export type GivenAnswer =
  | {
      readonly kind: 'approval'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | {
      readonly kind: 'output'
      readonly toolCallId: string
      readonly output: unknown
      readonly refused?: string
    }

/** Reads only the new message. The log has the others, so a page may send any number of them. */
export function intentOf({ messages, trigger, messageId }: ChatRequest): ChatIntent {
  const last = messages.at(-1)
  const isRetry = trigger === 'regenerate-message'
  if (isRetry && last?.role !== 'user') throw alreadySent()
  const named = isRetry
    ? undefined
    : messages.find(({ id, role }) => id === messageId && role === 'assistant')
  const message = named ?? last
  if (message?.role === 'user') {
    if (message.id === messageId && !isRetry) throw alreadySent()
    return { kind: 'prompt', message, parts: promptParts(message), isRetry }
  }
  if (message?.role === 'assistant') return { kind: 'answers', message, given: answersIn(message) }
  throw new ParleyError('validation_error', 'The last message must be from a user, or answer a request.')
}

/** The error for an edited message, or for a message that was already sent to the agent. */
export function alreadySent(): ParleyError {
  return new ParleyError(
    'not_supported',
    'Messages cannot be edited or sent again. Send a new message instead.',
  )
}

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() })
const FilePart = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string().regex(/^[\w.+-]+\/[\w.+*-]+$/, 'not a media type'),
  filename: z.string().optional(),
  url: z.string(),
})
const UserPart = z.discriminatedUnion('type', [TextPart, FilePart])

const longestId = 150

function promptParts({ parts, id }: UiMessage): PromptPart[] {
  if (id === '' || id.length > longestId) {
    throw new ParleyError('validation_error', `The id of a message must have 1 to ${longestId} characters.`)
  }
  const known: readonly string[] = ['text', 'file']
  const stranger = parts.find(({ type }) => !known.includes(type))
  if (stranger) {
    throw new ParleyError(
      'validation_error',
      `A message can have parts of type text and file, not "${stranger.type}".`,
      { details: { type: stranger.type, message: id } },
    )
  }
  const parsed = z.array(UserPart).safeParse(parts)
  if (!parsed.success) throw validationError('The message', parsed.error)
  return said(parsed.data.map((part) => (part.type === 'text' ? textPart(part) : filePart(part))))
}

/** Validates the prompt before a session is created for it. */
function said(parts: PromptPart[]): PromptPart[] {
  const command = PromptSubmit.safeParse({ type: 'prompt.submit', commandId: 'new', parts })
  if (!command.success) throw validationError('The message', command.error)
  return parts
}

function textPart({ text }: z.infer<typeof TextPart>): PromptPart {
  return { type: 'text', text }
}

function filePart({ mediaType, filename, url }: z.infer<typeof FilePart>): PromptPart {
  const data = /^data:[^,]*;base64,([A-Za-z0-9+/]*={0,2})$/.exec(url)?.[1]
  if (data === undefined || data === '' || data.length % 4 !== 0) {
    throw new ParleyError(
      'validation_error',
      'A file must be sent as a data URL in base64 (data:image/png;base64,…): Parley does not fetch URLs.',
      { details: { ...(filename !== undefined && { filename }) } },
    )
  }
  if (mediaType.startsWith('image/')) {
    return { type: 'image', mimeType: mediaType, data, ...(filename !== undefined && { name: filename }) }
  }
  return { type: 'file', name: filename ?? 'file', mimeType: mediaType, data }
}

const Responded = z.looseObject({
  approval: z.looseObject({ id: z.string(), approved: z.boolean(), reason: z.string().nullish() }),
})
const Put = z.looseObject({
  toolCallId: z.string(),
  state: z.enum(['output-available', 'output-error']),
  output: z.unknown().optional(),
  errorText: z.string().nullish(),
})

function answersIn({ parts }: UiMessage): GivenAnswer[] {
  return parts.flatMap((part): GivenAnswer[] => {
    if (part.type !== 'dynamic-tool' && !part.type.startsWith('tool-')) return []
    if (part.state === 'approval-responded') return [approvalIn(part)]
    const put = part.providerExecuted === true ? undefined : Put.safeParse(part)
    if (!put?.success) return []
    const { toolCallId, state, output, errorText } = put.data
    return [
      { kind: 'output', toolCallId, output, ...(state === 'output-error' && { refused: errorText ?? '' }) },
    ]
  })
}

function approvalIn(part: unknown): GivenAnswer {
  const parsed = Responded.safeParse(part)
  if (!parsed.success) throw validationError('The approval', parsed.error)
  const { id, approved, reason } = parsed.data.approval
  return { kind: 'approval', approvalId: id, approved, ...(reason != null && reason !== '' && { reason }) }
}

const Metadata = z.looseObject({
  cursor: z.int().min(1),
  unfinished: z.record(z.string(), z.int().min(0)).optional(),
})

export type Place = { readonly cursor: number; readonly unfinished: Record<string, number> }

/** The position in the log up to which the page has the message; undefined if the response was cut off. */
export function placeOf({ metadata }: UiMessage): Place | undefined {
  const { data } = Metadata.safeParse(metadata)
  return data && { cursor: data.cursor, unfinished: data.unfinished ?? {} }
}
