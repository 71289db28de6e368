import { allScopes, type Limits, type Role, type Scope, visible } from '@parley/protocol'

/** A description of each scope, for the forms in which a person chooses scopes. */
export const scopeNotes: Record<Scope, string> = {
  read: 'Read sessions and settings',
  prompt: 'Create sessions, send prompts, stop work',
  decide: 'Answer requests, choose wider modes, restore files',
  terminal: 'Open terminals, which run any command',
  admin: 'Change rules, trust, agents, people; delete sessions',
}

export const roleNames: Record<Role, string> = {
  viewer: 'Viewer',
  member: 'Member',
  approver: 'Approver',
  admin: 'Admin',
}

export const roleNotes: Record<Role, string> = {
  viewer: 'Viewer: reads',
  member: 'Member: also sends prompts',
  approver: 'Approver: also answers requests',
  admin: 'Admin: everything',
}

/** Scopes in the order in which they are defined. */
export function scopesText(scopes: readonly Scope[]): string {
  const given = allScopes.filter((scope) => scopes.includes(scope))
  if (given.length === allScopes.length) return 'Full access'
  return given.length === 0 ? 'No access' : `Scopes: ${given.join(', ')}`
}

/** The limits as text; undefined if there are none. */
export function limitsText(limits: Limits | undefined): string | undefined {
  const { folders = [], agents = [], sessions = [] } = limits ?? {}
  const parts = [
    ...(folders.length > 0 ? [`in ${folders.map(({ folder }) => folder).join(', ')}`] : []),
    ...(agents.length > 0 ? [`with ${agents.join(', ')}`] : []),
    ...(sessions.length > 0 ? [sessions.length === 1 ? 'one session' : `${sessions.length} sessions`] : []),
  ]
  return parts.length > 0 ? visible(`Only ${parts.join(', ')}`) : undefined
}

export function expiryText(expiresAt: number | undefined, now: number): string | undefined {
  if (expiresAt === undefined) return undefined
  if (expiresAt <= now) return 'Expired'
  return `Expires ${new Date(expiresAt).toLocaleDateString(undefined, { dateStyle: 'medium' })}`
}
