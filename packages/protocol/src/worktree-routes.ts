import { z } from 'zod'
import { bySession, NoContent, type RouteDefinition } from './route.ts'
import { BranchFate, ListedWorktree, SessionWorktree, WorktreeOffer } from './worktree.ts'

export const worktreeRoutes = {
  offerWorktree: {
    method: 'GET',
    path: '/api/worktrees/offer',
    summary:
      'Get the branches and files from which a worktree for a new session in the folder `cwd` can be made',
    scope: ['read', 'prompt'],
    limits: 'refused',
    query: z.object({ cwd: z.string().min(1) }),
    reply: WorktreeOffer,
  },
  listWorktrees: {
    method: 'GET',
    path: '/api/worktrees',
    summary:
      'List the worktrees in the data folder of this server, with their sizes and what a removal would delete',
    scope: 'read',
    limits: 'refused',
    reply: z.object({ worktrees: z.array(ListedWorktree) }),
  },
  getWorktree: {
    method: 'GET',
    path: '/api/sessions/:id/worktree',
    summary: 'Get the worktree of a session, with the content that its removal would delete',
    scope: 'read',
    limits: 'session',
    params: bySession,
    reply: SessionWorktree,
  },
  removeOrphan: {
    method: 'DELETE',
    path: '/api/worktrees/:name',
    summary: 'Remove a worktree whose session was deleted. The removal cannot be undone',
    scope: 'admin',
    limits: 'none',
    params: z.object({ name: z.string().min(1).max(255) }),
    query: z.object({ branch: BranchFate.default('keep') }),
    reply: NoContent,
  },
} as const satisfies Record<string, RouteDefinition>
