import { z } from 'zod'
import { HandOffOrigin } from './hand-off.ts'
import { AgentId, PromptId, SessionId } from './ids.ts'
import { McpServers } from './mcp-server.ts'
import { PermissionMode } from './permission.ts'
import { RoundPart } from './round-part.ts'
import { PlannedWorktree } from './worktree.ts'

/**
 * The status of a session.
 * - idle: nothing runs.
 * - working: a turn runs, or the worktree of the session is being made or removed.
 * - waiting: a request waits for a person.
 * - parked: a request waits for a person, and the agent has no process.
 * - background: no turn runs, but a background task does.
 */
export const SessionStatus = z.enum(['idle', 'working', 'waiting', 'parked', 'background'])
export type SessionStatus = z.infer<typeof SessionStatus>

/**
 * Options of a session beyond model and mode. An option that the agent does not support is refused with an error that
 * names it.
 */
export const SessionOptions = z.object({
  effort: z.string().optional(),
  tools: z.array(z.string()).optional().meta({ description: 'The only tools that may be used' }),
  hostToolsOnly: z.boolean().optional().meta({ description: 'The agent gets only the tools of the host' }),
  systemPrompt: z.string().optional(),
  appendSystemPrompt: z.string().optional(),
  maxTurns: z.int().min(1).optional(),
  maxBudgetUsd: z.number().min(0).optional(),
  directories: z.array(z.string()).optional(),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  userSettings: z.boolean().optional().meta({
    description: "false: do not load the person's own settings (hooks, MCP servers, memory, permissions)",
  }),
})
export type SessionOptions = z.infer<typeof SessionOptions>

export const SessionSettings = z.object({
  model: z.string().optional(),
  mode: PermissionMode.optional(),
  options: SessionOptions.optional(),
})
export type SessionSettings = z.infer<typeof SessionSettings>

export const ForkOrigin = z.object({
  sessionId: SessionId,
  seq: z.int().min(1),
  before: PromptId.optional().meta({ description: 'The prompt before which the session was forked' }),
})
export type ForkOrigin = z.infer<typeof ForkOrigin>

/** The point in an agent's conversation from which a copy of the conversation continues. */
export const ForkPoint = z.object({
  agentSessionId: z.string().meta({ description: "The agent's own id of the conversation" }),
  before: z.array(z.string()).min(1).meta({
    description:
      "The agent's ids of a prompt and of the prompts after it. The copy ends before the first of them that the conversation contains",
  }),
})
export type ForkPoint = z.infer<typeof ForkPoint>

/** The agent's own conversation that a session was imported from. */
export const ImportOrigin = z.object({ agentSessionId: z.string() })
export type ImportOrigin = z.infer<typeof ImportOrigin>

export const StartCommit = z
  .string()
  .meta({ description: 'HEAD of the folder when the session was created, if it is a git repository' })

export const ProjectPath = z.string().meta({
  description:
    'The project: the common directory of the repository of the folder, or the folder if it is in none. Absent in logs of earlier versions',
})

export const SessionCreation = z.object({
  agent: AgentId,
  cwd: z.string(),
  project: ProjectPath.optional(),
  title: z.string().optional(),
  model: z.string().optional(),
  mode: PermissionMode,
  mcpServers: McpServers.optional(),
  options: SessionOptions.optional(),
  forkedFrom: ForkOrigin.optional(),
  forkPoint: ForkPoint.optional().meta({ description: 'Absent: the copy has the whole conversation' }),
  importedFrom: ImportOrigin.optional(),
  handedFrom: HandOffOrigin.optional(),
  startCommit: StartCommit.optional(),
  worktree: PlannedWorktree.optional(),
  round: RoundPart.optional(),
})
export type SessionCreation = z.infer<typeof SessionCreation>
