import type { PermissionMode } from '@parley/protocol'
import type { ConnectInput } from '../../core/agent-adapter.ts'
import { leadsToProtected } from '../inside-folder.ts'

const edits = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
const shells = new Set(['Bash', 'PowerShell', 'Monitor'])

/**
 * Whether a person must be asked about this call although Claude Code may run it unasked: it changes a protected file.
 * Claude has a list of its own, which is shorter, and settings can allow what is on it. Of commands this is looked at
 * where edits are accepted, because Claude then runs some that change files.
 */
export function changesProtected(
  { tool, input }: { readonly tool: string; readonly input: unknown },
  mode: PermissionMode,
  session: Pick<ConnectInput, 'cwd' | 'settings'>,
): boolean {
  if (mode === 'bypass') return false
  if (edits.has(tool)) return pathsOf(input).some((path) => leadsToProtected(path, session))
  const { command } = (input ?? {}) as { command?: unknown }
  if (!shells.has(tool) || mode !== 'accept-edits' || typeof command !== 'string') return false
  return wordsOf(command).some((word) => /\/?\.[^/]*[*?[]/.test(word) || leadsToProtected(word, session))
}

/** The files that a tool of Claude's own is given. */
export function pathsOf(input: unknown): string[] {
  const { file_path, notebook_path, filePath, path } = (input ?? {}) as Record<string, unknown>
  return [file_path, notebook_path, filePath, path].filter((one) => typeof one === 'string')
}

/** Everything in a command that could name a file, however it is quoted. */
function wordsOf(command: string): string[] {
  const words = command.replace(/["'\\]/g, '').split(/[\s;&|<>(){}=,$`]+/)
  return words.filter((word) => word !== '' && !word.includes('\0'))
}
