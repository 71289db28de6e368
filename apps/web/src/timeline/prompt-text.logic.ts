import type { PromptPart } from '@parley/protocol'

export type HandOffPart = Extract<PromptPart, { type: 'text' | 'file' }> & { readonly handOff: string }

export function isHandOff(part: PromptPart): part is HandOffPart {
  return (part.type === 'text' || part.type === 'file') && part.handOff !== undefined
}

/** A prompt as text, without the text of a hand-off. */
export function promptSummary(parts: readonly PromptPart[]): string {
  return parts
    .filter((part) => !isHandOff(part))
    .map((part) => (part.type === 'text' ? part.text : (rewindText(part) ?? part.name ?? part.type)))
    .join(' ')
}

/** The prompt of `session.rewind`, as text. */
export function rewindText(part: PromptPart): string | undefined {
  if (part.type !== 'command' || part.name !== 'rewind') return undefined
  const { arguments: target = '' } = part
  if (target.startsWith('undo prm_')) return 'Undo the restore of files'
  return target.startsWith('prm_') ? 'Restore files to their state before an earlier prompt' : undefined
}
