import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { OpencodeClient } from '@opencode-ai/sdk/v2/client'
import { askAgain, type OpenCall } from '@parley/adapter-kit'
import type { Prompt, PromptPart } from '@parley/protocol'
import { messageIdOf, thrown } from './native.ts'
import { type EffectiveSettings, nativeModel } from './settings.ts'

export type NativePromptPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mime: string; readonly url: string; readonly filename?: string }

/** An id for a message that is not a prompt of the host. */
function newMessageId(): string {
  return `msg_${randomBytes(13).toString('hex')}`
}

/** Converts a prompt to the parts of OpenCode. A command at its start is sent separately: see `commandIn`. */
export function nativeParts(parts: readonly PromptPart[], cwd: string): NativePromptPart[] {
  return parts.map((part) => nativePart(part, cwd))
}

export type NativeCommand = {
  readonly name: string
  readonly arguments: string
  readonly files: NativePromptPart[]
}

/** The command at the start of a prompt, with the rest of the prompt. */
export function commandIn([first, ...rest]: readonly PromptPart[], cwd: string): NativeCommand | undefined {
  if (first?.type !== 'command') return undefined
  const words = rest.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const files = rest.filter((part) => part.type === 'image' || part.type === 'file')
  return {
    name: first.name,
    arguments: [first.arguments ?? '', ...words].filter((text) => text !== '').join(' '),
    files: nativeParts(files, cwd).filter(({ type }) => type === 'file'),
  }
}

function nativePart(part: PromptPart, cwd: string): NativePromptPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'command':
      return { type: 'text', text: `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}` }
    case 'image':
      return file(part.mimeType, part.data, part.name)
    case 'file':
      return filePart(part, cwd)
  }
}

function filePart(part: Extract<PromptPart, { type: 'file' }>, cwd: string): NativePromptPart {
  const { name, path, mimeType = 'text/plain', text, data } = part
  if (path !== undefined) {
    const whole = resolve(cwd, path)
    if (!existsSync(whole)) return { type: 'text', text: `The file ${path} does not exist.` }
    return { type: 'file', mime: mimeType, url: pathToFileURL(whole).href, filename: path }
  }
  if (text !== undefined) return file('text/plain', Buffer.from(text).toString('base64'), name)
  return file(mimeType.startsWith('text/') ? 'text/plain' : mimeType, data ?? '', name)
}

function file(mime: string, base64: string, filename: string | undefined): NativePromptPart {
  return {
    type: 'file',
    mime,
    url: `data:${mime};base64,${base64}`,
    ...(filename !== undefined && { filename }),
  }
}

/** Sends prompts and commands to one OpenCode session, with the settings in effect. */
export class PromptSender {
  readonly #client: OpencodeClient
  readonly #sessionID: string
  readonly #settings: EffectiveSettings
  /** The ids of the prompts that were sent here or reported as sent by another program. */
  readonly #known = new Set<string>()

  constructor(client: OpencodeClient, sessionID: string, settings: EffectiveSettings) {
    this.#client = client
    this.#sessionID = sessionID
    this.#settings = settings
  }

  /** The id of the message under which a prompt of the host is sent. */
  idOf({ promptId }: Prompt): string {
    const messageID = messageIdOf(this.#sessionID, promptId)
    this.#known.add(messageID)
    return messageID
  }

  /**
   * True if OpenCode has stored this message. A stored prompt with an output schema cannot be read: the response is
   * 400. Rejects on any other error except 404.
   */
  async isStored(messageID: string): Promise<boolean> {
    const request = { sessionID: this.#sessionID, messageID }
    const { data, error, response } = await this.#client.session.message(request)
    if (data || response?.status === 400) return true
    if (response?.status === 404) return false
    throw error
  }

  /**
   * Returns `known` if another program sent the last message. OpenCode has that message, because it reads the
   * conversation anew for each prompt.
   */
  async outsideMessages(): Promise<'nothing' | 'known'> {
    const { data } = await this.#client.session.messages({ sessionID: this.#sessionID, limit: 1 })
    const last = data?.at(-1)?.info
    const id = last?.role === 'assistant' ? last.parentID : last?.id
    if (id === undefined || this.#known.has(id)) return 'nothing'
    this.#known.add(id)
    return 'known'
  }

  /** Asks the model to continue with the last prompt. */
  async askAgain(openCalls: readonly OpenCall[]): Promise<void> {
    const messageID = newMessageId()
    this.#known.add(messageID)
    await this.prompt(messageID, [{ type: 'text', text: askAgain(openCalls) }])
  }

  /** Resolves when OpenCode has accepted the prompt. */
  async prompt(messageID: string, parts: readonly NativePromptPart[]): Promise<void> {
    const { model, promptParams, options } = this.#settings
    const { appendSystemPrompt, outputSchema } = options
    await this.#client.session.promptAsync(
      {
        sessionID: this.#sessionID,
        messageID,
        parts: [...parts],
        ...(model && { model }),
        ...promptParams,
        ...(appendSystemPrompt !== undefined && { system: appendSystemPrompt }),
        ...(outputSchema && { format: { type: 'json_schema', schema: outputSchema } }),
      },
      thrown,
    )
  }

  /** Resolves when the turn of the command is over. `lastModel` is the model that answered last, or the default. */
  async command(messageID: string, command: NativeCommand, lastModel: string): Promise<void> {
    const sessionID = this.#sessionID
    const { model, promptParams } = this.#settings
    const { name, arguments: words, files } = command
    if (name === 'compact') {
      const compacting = { sessionID, ...(model ?? nativeModel(lastModel)), auto: false }
      return void (await this.#client.session.summarize(compacting, thrown))
    }
    await this.#client.session.command(
      {
        sessionID,
        messageID,
        command: name,
        arguments: words,
        ...(model && { model: `${model.providerID}/${model.modelID}` }),
        ...promptParams,
        parts: files.filter((part) => part.type === 'file'),
      },
      thrown,
    )
  }
}
