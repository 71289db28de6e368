import { join } from 'node:path'
import type { Options } from '@anthropic-ai/claude-agent-sdk'
import { settingsIn } from './settings-file.ts'

type Sources = NonNullable<Options['settingSources']>
type FolderGrants = { readonly permissions: { allow: string[]; additionalDirectories: string[] } }

/**
 * The person's own settings, unless the session excludes them; the settings and MCP servers of the folder if it is
 * trusted.
 */
export function settingSourcesFor(trusted: boolean, userSettings: boolean): Sources {
  return [...(userSettings ? (['user'] as const) : []), ...(trusted ? (['project', 'local'] as const) : [])]
}

/**
 * Claude Code keeps a trust decision of its own, made in its terminal. Without it, Claude Code runs a folder's hooks
 * and servers, but ignores its grants. A person who trusts the folder here has accepted them, so they are passed as
 * settings.
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

/** A file that cannot be read or parsed grants nothing; Claude Code itself reports what is wrong with it. */
function permissionsIn(file: string): Record<string, unknown> | undefined {
  const { permissions } = settingsIn(file).settings as { permissions?: Record<string, unknown> }
  return permissions
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
