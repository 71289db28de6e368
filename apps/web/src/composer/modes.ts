import type { PermissionMode } from '@parley/protocol'
import { useMay } from '../base/self.ts'

/** The labels of the modes, which match the names of the modes on the command line. */
export const modeNames: Record<PermissionMode, string> = {
  ask: 'Ask',
  'accept-edits': 'Accept edits',
  'read-only': 'Read-only',
  plan: 'Plan',
  bypass: 'Bypass',
}

export const modeNotes: Record<PermissionMode, string> = {
  ask: 'Asks before it changes or runs anything.',
  'accept-edits': 'Changes files without asking; asks before it runs commands.',
  'read-only': 'Reads files and changes nothing.',
  plan: 'Writes a plan and asks for approval before it starts.',
  bypass: 'Does everything without asking. For folders you can afford to lose.',
}

/** The modes that let an agent do more than `ask` does. Choosing one needs the scope `decide`. */
export function isWide(mode: PermissionMode): boolean {
  return mode === 'accept-edits' || mode === 'bypass'
}

/** The modes that the person may choose, and the current mode. */
export function useChoosable(
  modes: readonly PermissionMode[],
  current: PermissionMode,
): readonly PermissionMode[] {
  const decides = useMay('decide')
  return modes.filter((mode) => decides || mode === current || !isWide(mode))
}
