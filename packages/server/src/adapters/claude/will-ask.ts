import { join } from 'node:path'
import type { Options } from '@anthropic-ai/claude-agent-sdk'
import type { PermissionMode } from '@parley/protocol'
import { settingsIn } from './settings-file.ts'

/** Claude asks a person about these in every mode. */
const always = new Set(['AskUserQuestion', 'ExitPlanMode'])
const edits = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
/** Commands that Claude may consider harmless. */
const reading =
  /^(ls|cat|head|tail|grep|rg|find|fd|pwd|echo|printf|which|type|wc|date|stat|file|du|df|sort|uniq|cut|tr|diff|ps|whoami|uname|env|printenv|true|cd|tree|jq|sed|awk|test|sleep|basename|dirname|realpath|git (status|log|diff|show|branch|remote|blame|rev-parse|ls-files|config|tag|stash list)|\S+ (-v|-V|--version|--help))\b/
/** Commands that Claude runs without asking in mode accept-edits. */
const editing = /^(mkdir|touch|rm|rmdir|mv|cp|sed|ln)\b/
const writesFile = /(^|[^0-9&])>{1,2}\s*(?!\/dev\/null|&)\S/

/**
 * Whether Claude Code will certainly ask before this call of the main agent. If so, the person is asked from the hook,
 * where a waiting call can be deferred. A wrong false costs only that possibility; a wrong true asks a person about a
 * call that Claude would have allowed.
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

/** The tools that settings allow in part or completely: whether Claude will ask about those is unknown. */
export function grantedBySettings(
  env: Readonly<Record<string, string>>,
  cwd: string,
  sources: NonNullable<Options['settingSources']>,
): ReadonlySet<string> {
  const own = env.CLAUDE_CONFIG_DIR ?? join(env.HOME ?? '', '.claude')
  const files = {
    user: join(own, 'settings.json'),
    project: join(cwd, '.claude', 'settings.json'),
    local: join(cwd, '.claude', 'settings.local.json'),
  }
  return new Set(sources.flatMap((source) => grantsIn(files[source])))
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
