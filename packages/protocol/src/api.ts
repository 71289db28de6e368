import { z } from 'zod'
import { accessRoutes } from './access-routes.ts'
import { AgentInfo, AgentModels, Installing } from './agent.ts'
import { AgentCheck, AgentKey, NewAgent } from './agent-setup.ts'
import {
  EventPage,
  ExpectedSession,
  ExportFormat,
  NewRule,
  NewSession,
  SessionDetail,
  SessionPatch,
  WaitingRequest,
} from './api-bodies.ts'
import { CapabilityInfo } from './capability-info.ts'
import { Changes } from './change.ts'
import { ChatId, ChatRequest, ChatSdk, UiMessage } from './chat.ts'
import { Command, Receipt } from './command.ts'
import { AgentConversation, NewImport } from './conversation.ts'
import { EnvironmentInfo, NewEnvironment, OldEnvironment } from './environment.ts'
import { AgentId, PromptId, SessionId } from './ids.ts'
import { PermissionRule } from './permission.ts'
import { RewindPreview } from './rewind.ts'
import { SessionStatus } from './session.ts'
import { SessionState, SessionSummary } from './session-state.ts'
import { NewTerminal, Terminal } from './terminal.ts'
import { NewTrust, TrustedFolder } from './trusted-folder.ts'

/** The HTTP routes: server, client and OpenAPI read this one list. */
export type Route = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  summary: string
  open?: true
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  reply: z.ZodType
  status: number
  /** Other media types that the same path can answer with. */
  also?: string[]
}

const bySession = z.object({ id: SessionId })
const byAgent = z.object({ id: AgentId })
const byChat = z.object({ id: ChatId })
const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'a whole number')
  .transform(Number)
const limit = (most: number, usual: number) => whole.pipe(z.int().min(1).max(most)).default(usual)
const cursor = whole.optional()

const Nothing = z.null()

export const routes = {
  health: {
    method: 'GET',
    path: '/api/health',
    summary: 'Is it up? Needs no token',
    open: true,
    reply: z.object({
      ok: z.literal(true),
      version: z.string(),
      instance: z.string().optional().meta({ description: 'Another one after each start' }),
    }),
    status: 200,
  },
  listAgents: {
    method: 'GET',
    path: '/api/agents',
    summary: 'Agents: found, version, signed in, capabilities, options, models, modes',
    reply: z.object({
      agents: z.array(AgentInfo),
      capabilities: z
        .array(CapabilityInfo)
        .optional()
        .meta({ description: 'What each capability of an agent means' }),
    }),
    status: 200,
  },
  listModels: {
    method: 'GET',
    path: '/api/models',
    summary: 'The models of all agents, with what the programs themselves tell of each',
    reply: z.object({ agents: z.array(AgentModels) }),
    status: 200,
  },
  addAgent: {
    method: 'POST',
    path: '/api/agents',
    summary:
      'Add a program that speaks the Agent Client Protocol. It is kept in config.json and runs as the user of the server',
    body: NewAgent,
    reply: AgentInfo,
    status: 201,
  },
  forgetAgent: {
    method: 'DELETE',
    path: '/api/agents/:id',
    summary: 'Take away an agent that a person added; its sessions can still be read',
    params: byAgent,
    reply: Nothing,
    status: 204,
  },
  setAgentKey: {
    method: 'POST',
    path: '/api/agents/:id/key',
    summary: 'Set a key of an agent, in config.json. No reply gives it out again',
    params: byAgent,
    body: AgentKey,
    reply: Nothing,
    status: 204,
  },
  removeAgentKey: {
    method: 'DELETE',
    path: '/api/agents/:id/key',
    summary: 'Remove a key of an agent',
    params: byAgent,
    query: AgentKey.pick({ variable: true }),
    reply: Nothing,
    status: 204,
  },
  testAgent: {
    method: 'POST',
    path: '/api/agents/:id/test',
    summary: 'Look for an agent, start it in an empty folder, and end it; no model is asked',
    params: byAgent,
    reply: z.object({ checks: z.array(AgentCheck) }),
    status: 200,
  },
  installAgent: {
    method: 'POST',
    path: '/api/agents/:id/install',
    summary:
      'Starts to install an agent, or to update it, to the known-good version; the list of agents tells how it goes',
    params: byAgent,
    reply: z.object({ installing: Installing }),
    status: 202,
  },
  removeAgent: {
    method: 'DELETE',
    path: '/api/agents/:id/install',
    summary: 'Stops the installation of an agent; if none runs, removes what Parley installed',
    params: byAgent,
    reply: Nothing,
    status: 204,
  },
  createSession: {
    method: 'POST',
    path: '/api/sessions',
    summary: 'A new session, with its first prompt if given',
    body: NewSession,
    reply: SessionState,
    status: 201,
  },
  prepareSession: {
    method: 'POST',
    path: '/api/sessions/prepare',
    summary:
      'A session like this will be created soon: its agent is started now, if it is one that can be started without a session',
    body: ExpectedSession,
    reply: Nothing,
    status: 204,
  },
  listSessions: {
    method: 'GET',
    path: '/api/sessions',
    summary: 'Sessions, the pinned and the latest changed first',
    query: z.object({
      q: z.string().optional(),
      agent: AgentId.optional(),
      status: SessionStatus.optional(),
      archived: z.enum(['true', 'false', 'all']).default('false'),
      limit: limit(500, 50),
      cursor: z.string().optional(),
    }),
    reply: z.object({ sessions: z.array(SessionSummary), cursor: z.string().optional() }),
    status: 200,
  },
  getSession: {
    method: 'GET',
    path: '/api/sessions/:id',
    summary: 'The small part of the view and the last blocks',
    params: bySession,
    query: z.object({ tail: whole.pipe(z.int().min(0).max(500)).default(50) }),
    reply: SessionDetail,
    status: 200,
  },
  patchSession: {
    method: 'PATCH',
    path: '/api/sessions/:id',
    summary: 'Rename, archive or pin',
    params: bySession,
    body: SessionPatch,
    reply: SessionSummary,
    status: 200,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/sessions/:id',
    summary: 'Delete: every row goes',
    params: bySession,
    reply: Nothing,
    status: 204,
  },
  command: {
    method: 'POST',
    path: '/api/sessions/:id/commands',
    summary: 'A command; accepted once it is in the log',
    params: bySession,
    body: Command,
    reply: Receipt,
    status: 202,
  },
  events: {
    method: 'GET',
    path: '/api/sessions/:id/events',
    summary: 'A page of events; as text/event-stream it follows the session',
    params: bySession,
    query: z.object({
      after: cursor,
      before: cursor,
      limit: limit(5000, 500),
      epoch: z.string().optional(),
      native: z
        .enum(['true', 'false'])
        .optional()
        .meta({ description: "Of a stream: the agent's own messages too, live only" }),
      prompts: z.enum(['true', 'false']).optional().meta({
        description: 'Of a page: also the events before it that hold the prompts of its turns and its queue',
      }),
    }),
    reply: EventPage,
    status: 200,
    also: ['text/event-stream'],
  },
  previewRewind: {
    method: 'GET',
    path: '/api/sessions/:id/rewind',
    summary:
      'What the command session.rewind would change. Changes nothing; starts the agent if it does not run',
    params: bySession,
    query: z.object({ promptId: PromptId }),
    reply: RewindPreview,
    status: 200,
  },
  exportSession: {
    method: 'GET',
    path: '/api/sessions/:id/export',
    summary: 'The whole session as a file',
    params: bySession,
    query: z.object({ as: ExportFormat.default('jsonl') }),
    reply: z.string(),
    status: 200,
    also: ['application/jsonl', 'text/markdown', 'text/html'],
  },
  chat: {
    method: 'POST',
    path: '/api/chat',
    summary:
      'What a DefaultChatTransport of the AI SDK sends: a prompt, or answers; the response is a UI message stream',
    query: z.object({ sdk: ChatSdk.default('6') }),
    body: ChatRequest,
    reply: z.string(),
    status: 200,
    also: ['text/event-stream'],
  },
  resumeChat: {
    method: 'GET',
    path: '/api/chat/:id/stream',
    summary: 'The current response from its start, as a UI message stream; 204 if there is none',
    params: byChat,
    query: z.object({ sdk: ChatSdk.default('6') }),
    reply: z.string(),
    status: 200,
    also: ['text/event-stream'],
  },
  stopChat: {
    method: 'POST',
    path: '/api/chat/:id/stop',
    summary: 'Cancels the turn that runs, if one does',
    params: byChat,
    reply: Nothing,
    status: 204,
  },
  chatMessages: {
    method: 'GET',
    path: '/api/chat/:id/messages',
    summary: 'The chat as UI messages, as a client holds them; none for an unknown chat',
    params: byChat,
    reply: z.array(UiMessage),
    status: 200,
  },
  findFolders: {
    method: 'GET',
    path: '/api/folders',
    summary: 'Folders whose path begins as was typed, e.g. ~/pro; hidden ones only after a dot',
    query: z.object({ q: z.string().max(4096).default(''), limit: limit(200, 50) }),
    reply: z.object({ folders: z.array(z.string()) }),
    status: 200,
  },
  findFiles: {
    method: 'GET',
    path: '/api/sessions/:id/files',
    summary: "Files of the session's folder that fit the words, the best first; without what git ignores",
    params: bySession,
    query: z.object({ q: z.string().max(500).default(''), limit: limit(200, 50) }),
    reply: z.object({ files: z.array(z.string()) }),
    status: 200,
  },
  findFilesIn: {
    method: 'GET',
    path: '/api/files',
    summary: 'The same of any folder, for the prompt of a session that is still to be made',
    query: z.object({
      cwd: z.string().min(1),
      q: z.string().max(500).default(''),
      limit: limit(200, 50),
    }),
    reply: z.object({ files: z.array(z.string()) }),
    status: 200,
  },
  listChanges: {
    method: 'GET',
    path: '/api/sessions/:id/changes',
    summary:
      "What differs in the session's folder from HEAD, or from a commit; as text/event-stream it tells when that may have changed",
    params: bySession,
    query: z.object({ base: z.string().default('HEAD') }),
    reply: Changes,
    status: 200,
    also: ['text/event-stream'],
  },
  getPatch: {
    method: 'GET',
    path: '/api/sessions/:id/changes/patch',
    summary: 'The patch of one file, as git writes it',
    params: bySession,
    query: z.object({ path: z.string().min(1), base: z.string().default('HEAD') }),
    reply: z.object({ patch: z.string(), cut: z.boolean() }),
    status: 200,
  },
  listTerminals: {
    method: 'GET',
    path: '/api/sessions/:id/terminals',
    summary: 'Terminals that were opened for the session',
    params: bySession,
    reply: z.object({ terminals: z.array(Terminal) }),
    status: 200,
  },
  openTerminal: {
    method: 'POST',
    path: '/api/sessions/:id/terminals',
    summary:
      "A shell in the session's folder, or the agent's own program; watch it at /api/terminals/:id with a WebSocket",
    params: bySession,
    body: NewTerminal,
    reply: Terminal,
    status: 201,
  },
  removeTerminal: {
    method: 'DELETE',
    path: '/api/terminals/:id',
    summary: 'End a terminal and forget it',
    params: z.object({ id: z.string() }),
    reply: Nothing,
    status: 204,
  },
  listPermissions: {
    method: 'GET',
    path: '/api/permissions',
    summary: 'Everything that waits for a person, in all sessions',
    reply: z.object({ requests: z.array(WaitingRequest) }),
    status: 200,
  },
  listRules: {
    method: 'GET',
    path: '/api/rules',
    summary: 'Standing permission rules and grants',
    reply: z.object({ rules: z.array(PermissionRule) }),
    status: 200,
  },
  createRule: {
    method: 'POST',
    path: '/api/rules',
    summary: 'A new rule',
    body: NewRule,
    reply: PermissionRule,
    status: 201,
  },
  deleteRule: {
    method: 'DELETE',
    path: '/api/rules/:id',
    summary: 'Revoke a rule',
    params: z.object({ id: z.string() }),
    reply: Nothing,
    status: 204,
  },
  listConversations: {
    method: 'GET',
    path: '/api/agents/:id/conversations',
    summary: 'Conversations that the agent keeps on this machine by itself, the latest first',
    params: z.object({ id: AgentId }),
    query: z.object({ cwd: z.string().optional() }),
    reply: z.object({ conversations: z.array(AgentConversation) }),
    status: 200,
  },
  importConversation: {
    method: 'POST',
    path: '/api/imports',
    summary: 'Read such a conversation into a session; the same one twice is one session',
    body: NewImport,
    reply: SessionState,
    status: 201,
  },
  listTrustedFolders: {
    method: 'GET',
    path: '/api/trust',
    summary: 'Folders whose own settings, hooks and servers agents may load, with all folders inside them',
    reply: z.object({ folders: z.array(TrustedFolder) }),
    status: 200,
  },
  trustFolder: {
    method: 'POST',
    path: '/api/trust',
    summary: 'Trust a folder and all inside it; holds from the next start of an agent there',
    body: NewTrust,
    reply: TrustedFolder,
    status: 201,
  },
  distrustFolder: {
    method: 'DELETE',
    path: '/api/trust',
    summary: 'Revoke the trust of a folder',
    query: NewTrust,
    reply: Nothing,
    status: 204,
  },
  listEnvironments: {
    method: 'GET',
    path: '/api/environment',
    summary: 'Which variables are set for the agents of which sessions and folders; names, never values',
    reply: z.object({ environments: z.array(EnvironmentInfo) }),
    status: 200,
  },
  setEnvironment: {
    method: 'POST',
    path: '/api/environment',
    summary:
      'Set variables for the agent of a session, or of all sessions in a folder; holds from its next start',
    body: NewEnvironment,
    reply: EnvironmentInfo,
    status: 201,
  },
  unsetEnvironment: {
    method: 'DELETE',
    path: '/api/environment',
    summary: 'Remove one variable of a session or a folder, or all of them',
    query: OldEnvironment,
    reply: Nothing,
    status: 204,
  },
  ...accessRoutes,
  metrics: {
    method: 'GET',
    path: '/metrics',
    summary: 'Counters, histograms and gauges in the text format of Prometheus',
    reply: z.string(),
    status: 200,
    also: ['text/plain'],
  },
  openapi: {
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'This list, as OpenAPI',
    reply: z.record(z.string(), z.unknown()),
    status: 200,
  },
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes
export type ReplyOf<Name extends RouteName> = z.infer<(typeof routes)[Name]['reply']>
