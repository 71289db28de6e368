import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { PermissionMode } from '@parley/protocol'
import type { ConnectInput } from '../../core/agent-adapter.ts'
import { leadsToProtected, placeOrNone } from '../inside-folder.ts'

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

/**
 * Whether a call writes a plan where Claude Code keeps them: in plan mode it names a file there and writes it unasked. A
 * plan is words, and is put before a person when it is done. A link to anywhere else is no plan.
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
