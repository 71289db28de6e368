import { z } from 'zod'
import {
  EventPage,
  ExpectedSession,
  ExportFormat,
  NewSession,
  SessionDetail,
  SessionPatch,
} from './api-bodies.ts'
import { Command, Receipt } from './command.ts'
import { HandOffPreview, HandOffQuery } from './hand-off.ts'
import { AgentId, PromptId } from './ids.ts'
import { ProjectId } from './project.ts'
import { RewindPreview } from './rewind.ts'
import { bySession, limit, NoContent, type RouteDefinition, whole } from './route.ts'
import { SessionStatus } from './session.ts'
import { SessionState } from './session-state.ts'
import { SessionSummary } from './session-summary.ts'

const cursor = whole.optional()

export const sessionRoutes = {
  createSession: {
    method: 'POST',
    path: '/api/sessions',
    summary: 'Create a session, with its first prompt if given',
    scope: 'prompt',
    limits: 'handled',
    body: NewSession,
    reply: SessionState,
    status: 201,
  },
  prepareSession: {
    method: 'POST',
    path: '/api/sessions/prepare',
    summary:
      'Announce a session that will be created; its agent is started now if it can start before a session exists',
    scope: 'prompt',
    limits: 'handled',
    body: ExpectedSession,
    reply: NoContent,
  },
  listSessions: {
    method: 'GET',
    path: '/api/sessions',
    summary: 'List sessions: pinned first, then the most recently changed',
    scope: 'read',
    limits: 'handled',
    query: z.object({
      q: z.string().optional(),
      agent: AgentId.optional(),
      project: ProjectId.optional(),
      status: SessionStatus.optional(),
      archived: z.enum(['true', 'false', 'all']).default('false'),
      limit: limit(500, 50),
      cursor: z.string().optional(),
    }),
    reply: z.object({ sessions: z.array(SessionSummary), cursor: z.string().optional() }),
  },
  getSession: {
    method: 'GET',
    path: '/api/sessions/:id',
    summary: 'Get the state of a session and its last blocks',
    scope: 'read',
    limits: 'session',
    params: bySession,
    query: z.object({ tail: whole.pipe(z.int().min(0).max(500)).default(50) }),
    reply: SessionDetail,
  },
  patchSession: {
    method: 'PATCH',
    path: '/api/sessions/:id',
    summary: 'Rename, archive or pin a session',
    scope: 'prompt',
    limits: 'session',
    params: bySession,
    body: SessionPatch,
    reply: SessionSummary,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/sessions/:id',
    summary: 'Delete a session and all its events',
    scope: 'admin',
    limits: 'session',
    params: bySession,
    reply: NoContent,
  },
  command: {
    method: 'POST',
    path: '/api/sessions/:id/commands',
    summary: 'Send a command; the reply comes when the command is in the log',
    scope: 'command',
    limits: 'session',
    params: bySession,
    body: Command,
    reply: Receipt,
    status: 202,
  },
  events: {
    method: 'GET',
    path: '/api/sessions/:id/events',
    summary: 'Read a page of events, or follow the session as text/event-stream',
    scope: 'read',
    limits: 'session',
    params: bySession,
    query: z.object({
      after: cursor,
      before: cursor,
      limit: limit(5000, 500),
      epoch: z.string().optional(),
      native: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: "For a stream: also send the agent's native messages, which are not replayed" }),
      prompts: z.enum(['true', 'false']).optional().meta({
        description:
          'For a page: also return the earlier events that contain the queued prompts and the prompts of the turns on this page',
      }),
    }),
    reply: EventPage,
    also: ['text/event-stream'],
  },
  previewRewind: {
    method: 'GET',
    path: '/api/sessions/:id/rewind',
    summary: 'Preview which files session.rewind would restore',
    scope: 'decide',
    limits: 'session',
    params: bySession,
    query: z.object({ promptId: PromptId }),
    reply: RewindPreview,
  },
  previewHandOff: {
    method: 'GET',
    path: '/api/sessions/:id/hand-off',
    summary: 'Get the text with which another agent can continue the work of a session; changes nothing',
    scope: ['read', 'prompt'],
    limits: 'session',
    params: bySession,
    query: HandOffQuery.extend({ upTo: cursor }),
    reply: HandOffPreview,
  },
  exportSession: {
    method: 'GET',
    path: '/api/sessions/:id/export',
    summary: 'Export a session',
    scope: 'read',
    limits: 'session',
    params: bySession,
    query: z.object({
      as: ExportFormat.default('jsonl'),
      proof: z.enum(['true', 'false']).default('false').meta({
        description: 'With jsonl: seals the log first, and adds a last line with the public keys',
      }),
    }),
    reply: z.string(),
    also: ['application/jsonl', 'text/markdown', 'text/html'],
  },
} as const satisfies Record<string, RouteDefinition>
