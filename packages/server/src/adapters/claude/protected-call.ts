import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { PermissionMode } from '@parley/protocol'
import type { ConnectInput } from '../../core/agent-adapter.ts'
import { leadsToProtected, placeOrNone } from '../inside-folder.ts'

const edits = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
const shells = new Set(['Bash', 'PowerShell', 'Monitor'])

/**
 * Whether a person must be asked about this call although Claude Code may run it without asking: it changes a
 * protected file. Claude's own list is shorter, and settings can allow what is on it. Commands are checked in mode
 * accept-edits, in which Claude runs some that change files.
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

/**
 * Whether a call writes a plan in the plans folder of Claude Code: in plan mode, Claude names a file there and writes
 * it without asking. A plan is plain text, and a person reviews it when it is done. A link that leads elsewhere is not
 * a plan.
 */
export function writesPlan(
  { tool, input }: { readonly tool: string; readonly input: unknown },
  env: Readonly<Record<string, string>>,
): boolean {
  const own = env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? '', '.claude')
  const paths = pathsOf(input)
  if (!edits.has(tool) || !isAbsolute(own) || paths.length === 0) return false
  const folder = placeOrNone(own)
  return paths.every((path) => {
    const place = path === resolve(path) && path.endsWith('.md') ? placeOrNone(path) : undefined
    if (folder === undefined || place === undefined) return false
    return dirname(place) === join(folder, 'plans') && basename(place) === basename(path)
  })
}

/** The files in the input of one of Claude's own tools. */
export function pathsOf(input: unknown): string[] {
  const { file_path, notebook_path, filePath, path } = (input ?? {}) as Record<string, unknown>
  return [file_path, notebook_path, filePath, path].filter((one) => typeof one === 'string')
}

/** Everything in a command that could name a file, however it is quoted. */
function wordsOf(command: string): string[] {
  const words = command.replace(/["'\\]/g, '').split(/[\s;&|<>(){}=,$`]+/)
  return words.filter((word) => word !== '' && !word.includes('\0'))
}
