import { z } from 'zod'
import type { NewSession } from './api-bodies.ts'
import type { Command, CommandType } from './command.ts'
import type { PermissionMode } from './permission.ts'
import type { ProjectField, ProjectPatch } from './project.ts'

/**
 * The kinds of operations that a caller may perform.
 * - read: read sessions and settings, and follow sessions.
 * - prompt: create sessions, send prompts and stop work.
 * - decide: answer requests, and choose settings that widen what agents may do.
 * - terminal: open shells. A shell can do whatever the server's user can, without a decision.
 * - admin: change rules, projects, trusted folders, agents, people and devices, and delete sessions.
 */
export const allScopes = ['read', 'prompt', 'decide', 'terminal', 'admin'] as const
export const Scope = z.enum(allScopes)
export type Scope = z.infer<typeof Scope>

/** A preset of scopes for a person. */
export const allRoles = ['viewer', 'member', 'approver', 'admin'] as const
export const Role = z.enum(allRoles)
export type Role = z.infer<typeof Role>

export const roleScopes: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['read'],
  member: ['read', 'prompt'],
  approver: ['read', 'prompt', 'decide'],
  admin: allScopes,
}

/** The scope that each command needs. `scopesOfCommand` adds the scopes that its fields need. */
export const commandScopes: Readonly<Record<CommandType, Scope>> = {
  'prompt.submit': 'prompt',
  'prompt.withdraw': 'prompt',
  'prompt.move': 'prompt',
  'turn.cancel': 'prompt',
  'queue.resume': 'prompt',
  'task.stop': 'prompt',
  'permission.decide': 'decide',
  'question.answer': 'decide',
  'session.configure': 'prompt',
  'session.fork': 'prompt',
  'session.hand-over': 'prompt',
  'session.close': 'prompt',
  'session.release': 'prompt',
  'session.compact': 'prompt',
  // A rewind changes files without a decision about each of them.
  'session.rewind': 'decide',
  'session.unrewind': 'decide',
  // For each of these operations, an agent would need the decision of a person.
  'changes.discard': 'decide',
  'changes.restore': 'decide',
  'changes.stage': 'decide',
  'changes.unstage': 'decide',
  'changes.commit': 'decide',
  'branch.push': 'decide',
  'branch.merge': 'decide',
  'pull-request.open': 'decide',
  'worktree.retry': 'prompt',
  // Files are deleted without a decision about each of them.
  'worktree.remove': 'decide',
  // The setup command of the project runs on files that an agent has written.
  'worktree.restore': 'decide',
  // Other machines are reached with the credentials of the person who runs the server.
  'worktree.fill': 'decide',
  // A check runs code that an agent has written.
  'check.run': 'decide',
  'check.stop': 'prompt',
  // Files are deleted without a decision about each of them.
  'attempt.pick': 'decide',
  'attempt.pass-over': 'decide',
}

/**
 * The scopes that a command needs in a session. `mode` is the present mode of the session: leaving the read-only mode,
 * and forking a session whose mode is wide, need the scope `decide`. So does a fork in a worktree, in which the setup
 * command of the project runs on files that an agent has written.
 */
export function scopesOfCommand(command: Command, mode: PermissionMode = 'ask'): readonly Scope[] {
  const needed = commandScopes[command.type]
  if (command.type === 'session.configure' && (widens(command) || leavesReadOnly(command, mode)))
    return [needed, 'decide']
  if (command.type === 'session.fork' && (command.worktree || isWideMode(mode))) return [needed, 'decide']
  if (command.type === 'permission.decide' && isWide(command.scope)) return [needed, 'admin']
  return [needed]
}

/** The scopes that are needed to create a session with these fields. */
export function scopesOfCreation(session: CreationFields): readonly Scope[] {
  return [
    'prompt',
    ...(widens(session) || session.env !== undefined ? (['decide'] as const) : []),
    ...(session.trust ? (['admin', 'decide'] as const) : []),
  ]
}

/**
 * The scopes that each setting of a project needs. `setup` and `check` are commands that run without a further
 * decision. `base` names the branch that no push may change and into which merges are made. `copy` gives files to
 * agents, and `keepDays` removes folders.
 */
const projectScopes: Readonly<Record<ProjectField, readonly Scope[]>> = {
  name: ['prompt'],
  base: ['admin', 'decide'],
  copy: ['admin', 'decide'],
  keepDays: ['admin'],
  setup: ['admin', 'decide'],
  check: ['admin', 'decide'],
}

/** The scopes that are needed to change these settings of a project. */
export function scopesOfProjectPatch(patch: ProjectPatch): readonly Scope[] {
  const changed = (Object.keys(patch) as ProjectField[]).flatMap((field) => projectScopes[field] ?? [])
  return [...new Set<Scope>(['prompt', ...changed])]
}

type CreationFields = WideningFields & Partial<Pick<NewSession, 'env' | 'trust'>>

type WideningFields = {
  readonly mode?: PermissionMode | undefined
  readonly mcpServers?: object | undefined
  readonly options?: object | undefined
}

/** True if the settings let an agent do more than the mode `ask` does, or change the program that runs. */
function widens({ mode, mcpServers, options }: WideningFields): boolean {
  return (
    isWideMode(mode) ||
    mcpServers !== undefined ||
    Object.keys(options ?? {}).some((name) => name !== 'effort')
  )
}

/** True if agents make calls without asking in this mode. */
export function isWideMode(mode: PermissionMode | undefined): boolean {
  return mode === 'accept-edits' || mode === 'bypass'
}

function leavesReadOnly({ mode }: WideningFields, before: PermissionMode): boolean {
  return before === 'read-only' && mode !== undefined && mode !== 'read-only'
}

/** True if an answer with this scope creates a rule that applies beyond its session. */
function isWide(scope: string): boolean {
  return scope === 'project' || scope === 'always'
}
