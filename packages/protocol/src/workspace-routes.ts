import { z } from 'zod'
import { BranchInfo, CheckLog, PullRequestInfo } from './branch.ts'
import { ChangeScope, ChangeSide, Changes } from './change.ts'
import { SuggestedMessage } from './commit-message.ts'
import { FileContent, Tree } from './file.ts'
import { MergePreview } from './merge.ts'
import { bySession, limit, NoContent, type RouteDefinition } from './route.ts'
import { NewTerminal, Terminal } from './terminal.ts'
import { ViewedFile, ViewedMarks } from './viewed.ts'

/** If `scope` is set, `base` is ignored. If `side` is set, both are ignored. */
const comparison = {
  base: z.string().default('HEAD'),
  scope: ChangeScope.optional(),
  side: ChangeSide.optional().meta({
    description: 'staged: the index, compared with HEAD. unstaged: the folder, compared with the index',
  }),
  turn: z
    .string()
    .optional()
    .meta({ description: 'For the scope `turn`: the id of the turn; by default the last turn' }),
}

/**
 * Includes files that git does not list. It needs the scope `terminal`, because a shell could read the same files.
 */
const all = {
  all: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'true: also read files that git does not list; needs the scope terminal' }),
}

export const workspaceRoutes = {
  findFolders: {
    method: 'GET',
    path: '/api/folders',
    summary:
      'List folders whose path starts with the query, such as ~/pro; hidden folders are included only if the last name in the query starts with a dot',
    scope: 'prompt',
    limits: 'handled',
    query: z.object({ q: z.string().max(4096).default(''), limit: limit(200, 50) }),
    reply: z.object({ folders: z.array(z.string()) }),
  },
  findFiles: {
    method: 'GET',
    path: '/api/sessions/:id/files',
    summary:
      "Find files in the session's folder that match the query, best first, without files that git ignores",
    scope: 'read',
    limits: 'session',
    params: bySession,
    query: z.object({ q: z.string().max(500).default(''), limit: limit(200, 50) }),
    reply: z.object({ files: z.array(z.string()) }),
  },
  findFilesIn: {
    method: 'GET',
    path: '/api/files',
    summary:
      'Find files that match the query in the folder `cwd`, for the prompt of a session that is not created yet',
    scope: 'prompt',
    limits: 'handled',
    query: z.object({
      cwd: z.string().min(1),
      q: z.string().max(500).default(''),
      limit: limit(200, 50),
    }),
    reply: z.object({ files: z.array(z.string()) }),
  },
  readTree: {
    method: 'GET',
    path: '/api/sessions/:id/tree',
    summary: "List one level of the session's folder",
    scope: 'read',
    scopesOfQuery: { all: { true: ['terminal'] } },
    limits: 'session',
    params: bySession,
    query: z.object({ path: z.string().max(4096).default(''), ...all }),
    reply: Tree,
  },
  readFile: {
    method: 'GET',
    path: '/api/sessions/:id/file',
    summary: "Read a text or an image in the session's folder",
    scope: 'read',
    scopesOfQuery: { all: { true: ['terminal'] } },
    limits: 'session',
    params: bySession,
    query: z.object({
      path: z.string().min(1).max(4096),
      rev: z
        .string()
        .optional()
        .meta({ description: 'A commit or a snapshot; by default the file as it is now' }),
      ...all,
    }),
    reply: FileContent,
  },
  listChanges: {
    method: 'GET',
    path: '/api/sessions/:id/changes',
    summary:
      "List changes in the session's folder: since HEAD or another commit, or in a scope; as text/event-stream, reports when the list may have changed",
    scope: 'read',
    limits: 'session',
    params: bySession,
    query: z.object(comparison),
    reply: Changes,
    also: ['text/event-stream'],
  },
  getPatch: {
    method: 'GET',
    path: '/api/sessions/:id/changes/patch',
    summary: 'Get the patch of one changed file, in the format of git',
    scope: 'read',
    scopesOfQuery: { all: { true: ['terminal'] } },
    limits: 'session',
    params: bySession,
    query: z.object({ path: z.string().min(1), ...comparison, ...all }),
    reply: z.object({ patch: z.string(), cut: z.boolean() }),
  },
  getBranch: {
    method: 'GET',
    path: '/api/sessions/:id/branch',
    summary:
      "Get the checked-out branch of the session's folder: its base, its remote and the identity for commits; contacts no other machine",
    scope: 'read',
    limits: 'session',
    params: bySession,
    reply: BranchInfo,
  },
  previewMerge: {
    method: 'GET',
    path: '/api/sessions/:id/merge',
    summary: 'Preview a merge of the checked-out branch into the base branch, on this machine',
    scope: ['read', 'decide'],
    limits: 'session',
    params: bySession,
    reply: MergePreview,
  },
  getPullRequest: {
    method: 'GET',
    path: '/api/sessions/:id/pull-request',
    summary:
      'Get the pull request of the checked-out branch, with its checks and comments, from gh or glab; only in a trusted folder',
    scope: ['read', 'prompt'],
    limits: 'session',
    params: bySession,
    reply: PullRequestInfo,
  },
  getCheckLogs: {
    method: 'GET',
    path: '/api/sessions/:id/pull-request/logs',
    summary:
      'Get the ends of the logs of the failed checks of the pull request, from gh or glab; only in a trusted folder',
    scope: ['read', 'prompt'],
    limits: 'session',
    params: bySession,
    reply: z.object({
      logs: z.array(CheckLog),
      more: z.int().optional().meta({ description: 'The number of further failed checks' }),
    }),
  },
  suggestMessage: {
    method: 'POST',
    path: '/api/sessions/:id/commit-message',
    summary:
      'Suggest a message for a commit of these files: the agent is asked in a copy of its conversation that is stored nowhere',
    scope: ['prompt', 'decide'],
    limits: 'session',
    params: bySession,
    body: z.object({ paths: z.array(z.string().min(1).max(4096)).min(1).max(20_000) }),
    reply: SuggestedMessage,
  },
  listViewed: {
    method: 'GET',
    path: '/api/sessions/:id/viewed',
    summary: 'List the changed files that the caller has viewed, each with the content that was viewed',
    scope: 'read',
    limits: 'session',
    params: bySession,
    reply: z.object({ files: z.array(ViewedFile) }),
  },
  markViewed: {
    method: 'PATCH',
    path: '/api/sessions/:id/viewed',
    summary: 'Mark files as viewed, or remove marks. The oldest marks are dropped if there are too many',
    scope: 'read',
    limits: 'session',
    params: bySession,
    body: ViewedMarks,
    reply: NoContent,
  },
  listTerminals: {
    method: 'GET',
    path: '/api/sessions/:id/terminals',
    summary: 'List the terminals of a session',
    scope: 'terminal',
    limits: 'session',
    params: bySession,
    reply: z.object({ terminals: z.array(Terminal) }),
  },
  openTerminal: {
    method: 'POST',
    path: '/api/sessions/:id/terminals',
    summary:
      "Open a shell in the session's folder, or the agent's own program; attach with a WebSocket at /api/terminals/:id",
    scope: 'terminal',
    limits: 'session',
    params: bySession,
    body: NewTerminal,
    reply: Terminal,
    status: 201,
  },
  removeTerminal: {
    method: 'DELETE',
    path: '/api/terminals/:id',
    summary: 'End and remove a terminal',
    scope: 'terminal',
    limits: 'none',
    params: z.object({ id: z.string() }),
    reply: NoContent,
  },
} as const satisfies Record<string, RouteDefinition>
