import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk/unstable'
import { type AgentMessage, askAgain, type OpenCall, openCallsNotice } from '@parley/adapter-kit'
import { ParleyError, type PromptPart, promptText } from '@parley/protocol'
import { isIdOf, type TranslateState } from './translate-state.ts'

const restarted = 'There was a restart while you waited for an answer'

/**
 * The text for an agent whose conversation lacks the open call, or the result of an earlier call, because the process
 * ended before it stored them.
 */
function continueWithoutCall(openCalls: readonly OpenCall[]): string {
  const lost = openCalls.length > 0 ? openCallsNotice(openCalls) : 'The last call you asked for has not run.'
  return `${restarted}. ${lost} Go on from what is done; do not do it again.`
}

/**
 * The prompt that makes the model continue after a restart. If the replay does not contain the last prompt, that prompt
 * is sent again. If nothing was replayed, it is sent again with an explanation.
 */
export function continuation(
  state: Pick<TranslateState, 'replaying' | 'lastPrompt' | 'openCall' | 'dialect'>,
  { prompt: { parts }, openCalls }: Extract<AgentMessage, { type: 'continue' }>,
): readonly PromptPart[] {
  const { replaying, lastPrompt, openCall, dialect } = state
  const withoutCall = continueWithoutCall(openCalls)
  if (!replaying) return [{ type: 'text', text: `${withoutCall} What you were asked:` }, ...parts]
  const asked = parts.find((part) => part.type === 'text')?.text.trim() ?? promptText(parts)
  const remembers = [asked, askAgain([]), restarted].some((words) => lastPrompt.includes(words))
  if (!remembers) return parts
  const replaysCall = openCall !== undefined && !dialect.forgetsOpenCall && isOpen(openCall, openCalls)
  const knowsCall = replaysCall || dialect.hidesOpenCall === true
  return [{ type: 'text', text: knowsCall ? askAgain(openCalls) : withoutCall }]
}

/** False if the log has the result of the call but the agent has lost it: the model must not make that call again. */
function isOpen(nativeId: string, openCalls: readonly OpenCall[]): boolean {
  return openCalls.length === 0 || openCalls.some(({ toolCallId }) => isIdOf(toolCallId, nativeId))
}

export type PromptAbilities = { readonly image?: boolean; readonly embeddedContext?: boolean }

/**
 * Converts a prompt to the content that the agent accepts. Throws a ParleyError for parts that the agent does not
 * accept.
 */
export function contentBlocks(
  parts: readonly PromptPart[],
  { cwd, abilities }: { cwd: string; abilities: PromptAbilities },
): ContentBlock[] {
  return parts.map((part) => contentBlock(part, cwd, abilities))
}

function contentBlock(part: PromptPart, cwd: string, abilities: PromptAbilities): ContentBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'command':
      return { type: 'text', text: `/${part.name}${part.arguments ? ` ${part.arguments}` : ''}` }
    case 'image':
      if (!abilities.image) throw new ParleyError('not_supported', 'This agent does not accept images.')
      return { type: 'image', data: part.data, mimeType: part.mimeType }
    case 'file':
      return fileBlock(part, cwd, abilities)
  }
}

function fileBlock(
  part: Extract<PromptPart, { type: 'file' }>,
  cwd: string,
  { embeddedContext }: PromptAbilities,
): ContentBlock {
  const { name, mimeType, path, text, data } = part
  const kind = mimeType === undefined ? {} : { mimeType }
  if (path !== undefined) {
    const uri = pathToFileURL(isAbsolute(path) ? path : join(cwd, path)).href
    return { type: 'resource_link', uri, name, ...kind }
  }
  const uri = pathToFileURL(join('/', name)).href
  if (text === undefined && embeddedContext)
    return { type: 'resource', resource: { uri, blob: data ?? '', ...kind } }
  const words = text ?? Buffer.from(data ?? '', 'base64').toString('utf8')
  if (embeddedContext) return { type: 'resource', resource: { uri, text: words, ...kind } }
  return { type: 'text', text: `<file name="${name.replaceAll('"', "'")}">\n${words}\n</file>` }
}
