import { type Delivery, isRecord, type PromptPart } from '@parley/protocol'
import { errorText } from '../base/error-text.logic.ts'
import { Outbox, type OutboxBrowser } from './outbox.ts'
import type { Envelope } from './outbox-items.ts'
import type { AttachmentStorage, PromptDraft } from './prompt-draft.ts'

type PromptContent = {
  readonly sessionId: string
  readonly textParts: readonly PromptPart[]
  /** The attachments may be large and are stored elsewhere, under the command id. */
  readonly attachmentCount: number
  readonly delivery: Delivery
  /** The queued prompts before which the prompt is inserted. Those that are no longer queued are ignored. */
  readonly followers: readonly string[]
  readonly paused: boolean
}

/** A prompt that the server has not accepted yet. */
export type OutgoingPrompt = PromptContent & Envelope

export type PromptInput = Pick<PromptContent, 'sessionId' | 'delivery'> &
  Partial<Pick<PromptContent, 'followers' | 'paused'>> & { readonly parts: readonly PromptPart[] }

type Options = OutboxBrowser & {
  readonly attachments: AttachmentStorage
  readonly draftOf: (sessionId: string) => PromptDraft
  readonly send: (
    prompt: OutgoingPrompt,
    parts: readonly PromptPart[],
    signal: AbortSignal,
  ) => Promise<unknown>
  /** Called after a refused prompt was put back into its draft. */
  readonly onRefused: (sessionId: string, error: unknown) => void
}

/** The prompts that the server has not accepted yet. A refused prompt returns to the draft of its session. */
export class PromptOutbox extends Outbox<PromptContent> {
  readonly #options: Options
  /** The attachments of prompts that were submitted on this page, in case the browser cannot store them. */
  readonly #attachments = new Map<string, readonly PromptPart[]>()

  constructor(options: Options) {
    super({
      ...options,
      name: 'prompt',
      isContent,
      send: (prompt, signal) => this.#send(prompt, signal),
      onRefused: () => 'remove',
      sequenceOf: ({ sessionId }) => sessionId,
    })
    this.#options = options
  }

  override start(): void {
    this.#moveOldEntry()
    super.start()
  }

  submit({ parts, followers = [], paused = false, ...rest }: PromptInput): void {
    const textParts = parts.filter(({ type }) => type === 'text')
    const attached = parts.filter(({ type }) => type !== 'text')
    this.#options.draftOf(rest.sessionId).refusal.set(undefined)
    const content = { ...rest, textParts, attachmentCount: attached.length, followers, paused }
    const commandId = this.add(content)
    if (attached.length === 0) return
    this.#attachments.set(commandId, attached)
    this.#options.attachments.write(commandId, attached)
  }

  override withdraw(commandId: string): void {
    super.withdraw(commandId)
    this.#options.attachments.write(commandId, [])
  }

  async #send(prompt: OutgoingPrompt, signal: AbortSignal): Promise<void> {
    const { commandId, sessionId, textParts, attachmentCount, followers, paused } = prompt
    const { attachments, send, draftOf, onRefused } = this.#options
    const attached = attachmentCount === 0 ? [] : await this.#takeAttachments(commandId)
    signal.throwIfAborted()
    const parts = [...textParts, ...attached]
    try {
      if (attached.length !== attachmentCount) throw new Error(attachmentsLost)
      await send(prompt, parts, signal)
    } catch (error) {
      signal.throwIfAborted()
      draftOf(sessionId).putBack(parts, { followers, paused })
      draftOf(sessionId).refusal.set(errorText(error))
      onRefused(sessionId, error)
      throw error
    } finally {
      if (!signal.aborted && attachmentCount > 0) attachments.write(commandId, [])
    }
  }

  async #takeAttachments(commandId: string): Promise<readonly PromptPart[]> {
    const attached = this.#attachments.get(commandId)
    this.#attachments.delete(commandId)
    return attached ?? this.#options.attachments.read(commandId)
  }

  /** Adds the prompts that earlier versions stored together in one entry, and removes that entry. */
  #moveOldEntry(): void {
    const { storage } = this.#options
    try {
      const text = storage.get(oldKey)
      if (text === null) return
      storage.remove(oldKey)
      for (const prompt of JSON.parse(text).prompts) {
        const { commandId, words: textParts, along: attachmentCount, ...rest } = prompt ?? {}
        const content = { followers: [], paused: false, ...rest, textParts, attachmentCount }
        if (isContent(content)) this.add(content, commandId)
      }
    } catch {}
  }
}

function isContent({ sessionId, textParts, followers }: Partial<PromptContent>): boolean {
  return Boolean(sessionId) && isListOf(textParts, isTextPart) && isListOf(followers, isString)
}

function isListOf(value: unknown, isMember: (member: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isMember)
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}

function isTextPart(value: unknown): boolean {
  return isRecord(value) && value.type === 'text' && isString(value.text)
}

const oldKey = 'parley:outbox'
const attachmentsLost =
  'The attachments were not stored in this browser. Check whether they arrived, or attach them again.'
