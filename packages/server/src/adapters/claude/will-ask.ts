import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { ConnectInput } from '@parley/adapter-kit'
import { leadsToProtected, placeOrNone } from '@parley/adapter-kit/inside-folder'
import type { PermissionMode } from '@parley/protocol'
import { configFolder, type SettingSources, settingsFiles, settingsIn } from './settings.ts'

/** Claude asks a person about these tools in every mode. */
const always = new Set(['AskUserQuestion', 'ExitPlanMode'])
const edits = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
/** Commands that Claude may consider harmless. */
const reading =
  /^(ls|cat|head|tail|grep|rg|find|fd|pwd|echo|printf|which|type|wc|date|stat|file|du|df|sort|uniq|cut|tr|diff|ps|whoami|uname|env|printenv|true|cd|tree|jq|sed|awk|test|sleep|basename|dirname|realpath|git (status|log|diff|show|branch|remote|blame|rev-parse|ls-files|config|tag|stash list)|\S+ (-v|-V|--version|--help))\b/
/** Commands that Claude runs without asking in mode accept-edits. */
const editing = /^(mkdir|touch|rm|rmdir|mv|cp|sed|ln)\b/
const writesFile = /(^|[^0-9&])>{1,2}\s*(?!\/dev\/null|&)\S/

/**
 * True if Claude Code will certainly ask before this call of the main agent. If so, the person is asked from the
 * hook, where a waiting call can be deferred. If the result is false by mistake, the call cannot be deferred. If it
 * is true by mistake, a person is asked about a call that Claude would have allowed.
 */
export function willAsk(
  call: { readonly tool: string; readonly input: unknown },
  mode: PermissionMode,
  granted: ReadonlySet<string>,
): boolean {
  const { tool, input } = call
  if (always.has(tool)) return true
  if (mode === 'bypass' || mode === 'plan') return false
  if (granted.has(tool) || [...granted].some((name) => tool.startsWith(`${name}__`))) return false
  if (edits.has(tool)) return mode !== 'accept-edits'
  if (tool.startsWith('mcp__')) return true
  return tool === 'Bash' && commandWillAsk(input, mode)
}

function commandWillAsk(input: unknown, mode: PermissionMode): boolean {
  const { command } = (input ?? {}) as { command?: unknown }
  if (typeof command !== 'string') return false
  const parts = command.split(/&&|\|\||[;|\n]/).map((part) => part.trim())
  return parts.some((part) => part !== '' && partWillAsk(part, mode))
}

function partWillAsk(part: string, mode: PermissionMode): boolean {
  if (mode === 'accept-edits' && (editing.test(part) || writesFile.test(part))) return false
  return writesFile.test(part) || !reading.test(part)
}

/** The tools that settings allow in part or completely. It is unknown whether Claude asks about these tools. */
export function grantedBySettings(
  env: Readonly<Record<string, string>>,
  cwd: string,
  sources: SettingSources,
): ReadonlySet<string> {
  return new Set(settingsFiles(env, cwd, sources).flatMap(grantsIn))
}

function grantsIn(file: string): string[] {
  const { permissions, sandbox } = settingsIn(file).settings as {
    permissions?: { allow?: unknown } | null
    sandbox?: { enabled?: unknown } | null
  }
  const allow = permissions?.allow
  const rules = Array.isArray(allow) ? allow.filter((rule) => typeof rule === 'string') : []
  const names = rules.map((rule) => rule.replace(/\(.*$/s, '').trim())
  const covered = names.flatMap((name) => (name === 'Edit' ? [...edits] : [name]))
  return sandbox?.enabled ? [...covered, 'Bash'] : covered
}

const shells = new Set(['Bash', 'PowerShell', 'Monitor'])

/**
 * True if a person must be asked about this call because it changes a protected file, although Claude Code may run it
 * without asking. Claude's own list of such files is shorter, and settings can allow changes to the files on it.
 * Commands are checked only in mode accept-edits, because in that mode Claude runs some commands that change files
 * without asking.
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
  return pathCandidates(command).some(
    (word) => /\/?\.[^/]*[*?[]/.test(word) || leadsToProtected(word, session),
  )
}

/**
 * True if a call writes a plan in the plans folder of Claude Code. In plan mode, Claude chooses a file there and
 * writes it without asking. A plan is plain text, and a person reviews it when it is done. A link to a file outside
 * the folder is not a plan.
 */
export function writesPlan(
  { tool, input }: { readonly tool: string; readonly input: unknown },
  env: Readonly<Record<string, string>>,
): boolean {
  const own = configFolder(env)
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
function pathCandidates(command: string): string[] {
  const words = command.replace(/["'\\]/g, '').split(/[\s;&|<>(){}=,$`]+/)
  return words.filter((word) => word !== '' && !word.includes('\0'))
}
