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
    summary: 'Health check; needs no token',
    open: true,
    reply: z.object({
      ok: z.literal(true),
      version: z.string(),
      instance: z
        .string()
        .optional()
        .meta({ description: 'Identifies this run of the server; changes with each start' }),
    }),
    status: 200,
  },
  listAgents: {
    method: 'GET',
    path: '/api/agents',
    summary: 'List agents: found, version, signed in, capabilities, options, models, modes',
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
    summary: 'List the models of all agents, as their programs report them',
    reply: z.object({ agents: z.array(AgentModels) }),
    status: 200,
  },
  addAgent: {
    method: 'POST',
    path: '/api/agents',
    summary:
      'Add a program that speaks the Agent Client Protocol. It is stored in config.json and runs as the user of the server',
    body: NewAgent,
    reply: AgentInfo,
    status: 201,
  },
  forgetAgent: {
    method: 'DELETE',
    path: '/api/agents/:id',
    summary: 'Remove an agent that a person added; its sessions can still be read',
    params: byAgent,
    reply: Nothing,
    status: 204,
  },
  setAgentKey: {
    method: 'POST',
    path: '/api/agents/:id/key',
    summary: 'Set a key of an agent, in config.json. No reply returns it',
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
    summary: 'Test an agent: find it, start it in an empty folder, and end it; no model is called',
    params: byAgent,
    reply: z.object({ checks: z.array(AgentCheck) }),
    status: 200,
  },
  installAgent: {
    method: 'POST',
    path: '/api/agents/:id/install',
    summary:
      'Start to install or update an agent, at the tested version; the list of agents reports the progress',
    params: byAgent,
    reply: z.object({ installing: Installing }),
    status: 202,
  },
  removeAgent: {
    method: 'DELETE',
    path: '/api/agents/:id/install',
    summary: 'Stop the installation of an agent; if none runs, remove what Parley installed',
    params: byAgent,
    reply: Nothing,
    status: 204,
  },
  createSession: {
    method: 'POST',
    path: '/api/sessions',
    summary: 'Create a session, with its first prompt if given',
    body: NewSession,
    reply: SessionState,
    status: 201,
  },
  prepareSession: {
    method: 'POST',
    path: '/api/sessions/prepare',
    summary: 'Announce a session: its agent is started now, if it can be started without a session',
    body: ExpectedSession,
    reply: Nothing,
    status: 204,
  },
  listSessions: {
    method: 'GET',
    path: '/api/sessions',
    summary: 'List sessions: pinned first, then the latest changed',
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
    summary: 'The state of a session and its last blocks',
    params: bySession,
    query: z.object({ tail: whole.pipe(z.int().min(0).max(500)).default(50) }),
    reply: SessionDetail,
    status: 200,
  },
  patchSession: {
    method: 'PATCH',
    path: '/api/sessions/:id',
    summary: 'Rename, archive or pin a session',
    params: bySession,
    body: SessionPatch,
    reply: SessionSummary,
    status: 200,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/sessions/:id',
    summary: 'Delete a session and all its events',
    params: bySession,
    reply: Nothing,
    status: 204,
  },
  command: {
    method: 'POST',
    path: '/api/sessions/:id/commands',
    summary: 'Send a command; it is accepted once it is in the log',
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
        description: 'For a page: also return earlier events with the prompts of its turns and its queue',
      }),
    }),
    reply: EventPage,
    status: 200,
    also: ['text/event-stream'],
  },
  previewRewind: {
    method: 'GET',
    path: '/api/sessions/:id/rewind',
    summary: 'Preview session.rewind. Changes nothing; starts the agent if it does not run',
    params: bySession,
    query: z.object({ promptId: PromptId }),
    reply: RewindPreview,
    status: 200,
  },
  exportSession: {
    method: 'GET',
    path: '/api/sessions/:id/export',
    summary: 'Export a session',
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
      'Takes a prompt or answers from a DefaultChatTransport of the AI SDK; the response is a UI message stream',
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
    summary: 'Cancel the running turn, if there is one',
    params: byChat,
    reply: Nothing,
    status: 204,
  },
  chatMessages: {
    method: 'GET',
    path: '/api/chat/:id/messages',
    summary: 'The chat as UI messages; none for an unknown chat',
    params: byChat,
    reply: z.array(UiMessage),
    status: 200,
  },
  findFolders: {
    method: 'GET',
    path: '/api/folders',
    summary: 'Folders whose path starts with the query, such as ~/pro; hidden folders only after a dot',
    query: z.object({ q: z.string().max(4096).default(''), limit: limit(200, 50) }),
    reply: z.object({ folders: z.array(z.string()) }),
    status: 200,
  },
  findFiles: {
    method: 'GET',
    path: '/api/sessions/:id/files',
    summary: "Files of the session's folder that match the query, best first; without files that git ignores",
    params: bySession,
    query: z.object({ q: z.string().max(500).default(''), limit: limit(200, 50) }),
    reply: z.object({ files: z.array(z.string()) }),
    status: 200,
  },
  findFilesIn: {
    method: 'GET',
    path: '/api/files',
    summary: 'The same for any folder, for the prompt of a session that does not exist yet',
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
      "Changes in the session's folder since HEAD or another commit; as text/event-stream it reports when they may have changed",
    params: bySession,
    query: z.object({ base: z.string().default('HEAD') }),
    reply: Changes,
    status: 200,
    also: ['text/event-stream'],
  },
  getPatch: {
    method: 'GET',
    path: '/api/sessions/:id/changes/patch',
    summary: 'The patch of one file, in the format of git',
    params: bySession,
    query: z.object({ path: z.string().min(1), base: z.string().default('HEAD') }),
    reply: z.object({ patch: z.string(), cut: z.boolean() }),
    status: 200,
  },
  listTerminals: {
    method: 'GET',
    path: '/api/sessions/:id/terminals',
    summary: 'List the terminals of a session',
    params: bySession,
    reply: z.object({ terminals: z.array(Terminal) }),
    status: 200,
  },
  openTerminal: {
    method: 'POST',
    path: '/api/sessions/:id/terminals',
    summary:
      "Open a shell in the session's folder, or the agent's own program; attach with a WebSocket at /api/terminals/:id",
    params: bySession,
    body: NewTerminal,
    reply: Terminal,
    status: 201,
  },
  removeTerminal: {
    method: 'DELETE',
    path: '/api/terminals/:id',
    summary: 'End and remove a terminal',
    params: z.object({ id: z.string() }),
    reply: Nothing,
    status: 204,
  },
  listPermissions: {
    method: 'GET',
    path: '/api/permissions',
    summary: 'The open requests of all sessions',
    reply: z.object({ requests: z.array(WaitingRequest) }),
    status: 200,
  },
  listRules: {
    method: 'GET',
    path: '/api/rules',
    summary: 'List standing permission rules and grants',
    reply: z.object({ rules: z.array(PermissionRule) }),
    status: 200,
  },
  createRule: {
    method: 'POST',
    path: '/api/rules',
    summary: 'Add a rule',
    body: NewRule,
    reply: PermissionRule,
    status: 201,
  },
  deleteRule: {
    method: 'DELETE',
    path: '/api/rules/:id',
    summary: 'Remove a rule',
    params: z.object({ id: z.string() }),
    reply: Nothing,
    status: 204,
  },
  listConversations: {
    method: 'GET',
    path: '/api/agents/:id/conversations',
    summary: "List conversations of the agent's own history on this machine, latest first",
    params: z.object({ id: AgentId }),
    query: z.object({ cwd: z.string().optional() }),
    reply: z.object({ conversations: z.array(AgentConversation) }),
    status: 200,
  },
  importConversation: {
    method: 'POST',
    path: '/api/imports',
    summary: 'Import a conversation as a session; importing it twice gives one session',
    body: NewImport,
    reply: SessionState,
    status: 201,
  },
  listTrustedFolders: {
    method: 'GET',
    path: '/api/trust',
    summary:
      'List trusted folders: agents may load the settings, hooks and MCP servers of these and of all folders inside them',
    reply: z.object({ folders: z.array(TrustedFolder) }),
    status: 200,
  },
  trustFolder: {
    method: 'POST',
    path: '/api/trust',
    summary: 'Trust a folder and all folders inside it; takes effect when an agent next starts there',
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
    summary: 'List the variables set for the agents of sessions and folders: names, never values',
    reply: z.object({ environments: z.array(EnvironmentInfo) }),
    status: 200,
  },
  setEnvironment: {
    method: 'POST',
    path: '/api/environment',
    summary:
      'Set variables for the agent of a session, or of all sessions in a folder; they take effect when it next starts',
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
    summary: 'This description, as OpenAPI',
    reply: z.record(z.string(), z.unknown()),
    status: 200,
  },
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes
export type ReplyOf<Name extends RouteName> = z.infer<(typeof routes)[Name]['reply']>
