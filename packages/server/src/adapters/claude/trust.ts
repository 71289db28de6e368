import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Options } from '@anthropic-ai/claude-agent-sdk'

type Sources = NonNullable<Options['settingSources']>
type FolderGrants = { readonly permissions: { allow: string[]; additionalDirectories: string[] } }

/**
 * The person's own settings, unless the session is to go without them; what lies in the folder, its MCP servers too, once
 * the folder is trusted.
 */
export function settingSourcesFor(trusted: boolean, userSettings: boolean): Sources {
  return [...(userSettings ? (['user'] as const) : []), ...(trusted ? (['project', 'local'] as const) : [])]
}

/**
 * Claude Code keeps a trust of its own, which is given in its terminal. Without that it runs a folder's hooks and
 * servers, but does not take its grants. Whoever trusts the folder here has given them, so they come as settings of ours.
 */
export function grantsOfFolder(trusted: boolean, cwd: string): { settings?: FolderGrants } {
  if (!trusted) return {}
  const files = ['settings.json', 'settings.local.json'].map((name) => join(cwd, '.claude', name))
  const found = files.map(permissionsIn)
  const allow = found.flatMap((permissions) => texts(permissions?.allow))
  const additionalDirectories = found.flatMap((permissions) => texts(permissions?.additionalDirectories))
  if (allow.length + additionalDirectories.length === 0) return {}
  return { settings: { permissions: { allow, additionalDirectories } } }
}

/** A file that cannot be read or understood grants nothing; Claude Code itself says what is wrong with it. */
function permissionsIn(file: string): Record<string, unknown> | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { permissions?: Record<string, unknown> }).permissions
  } catch {
    return undefined
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
