import { z } from 'zod'
import { AdapterFailure, AgentInfo, AgentModels, Installing } from './agent.ts'
import { AgentCheck, AgentKey, NewAgent } from './agent-setup.ts'
import { CapabilityInfo } from './capability-info.ts'
import { AgentConversation, NewImport } from './conversation.ts'
import { AgentId } from './ids.ts'
import { NodeInfo } from './node.ts'
import { byAgent, NoContent, type RouteDefinition } from './route.ts'
import { SessionState } from './session-state.ts'

/**
 * The routes about agents: finding, installing and testing them, and their keys, models and conversations.
 */
export const agentRoutes = {
  listAgents: {
    method: 'GET',
    path: '/api/agents',
    summary: 'List agents, each with its readiness, version, capabilities, options, models and modes',
    scope: 'read',
    limits: 'handled',
    reply: z.object({
      agents: z.array(AgentInfo),
      capabilities: z
        .array(CapabilityInfo)
        .optional()
        .meta({ description: 'Descriptions of all capabilities that an agent may have' }),
      failures: z.array(AdapterFailure).optional().meta({
        description: 'Adapters of config.json that were not loaded. Only administrators see them',
      }),
      node: NodeInfo.pick({ url: true, machine: true }).optional().meta({
        description: 'The node that answered, and whose agents are listed. Absent on SQLite',
      }),
    }),
  },
  listModels: {
    method: 'GET',
    path: '/api/models',
    summary: 'List the models of all agents, as their programs report them',
    scope: 'read',
    limits: 'handled',
    reply: z.object({ agents: z.array(AgentModels) }),
  },
  addAgent: {
    method: 'POST',
    path: '/api/agents',
    summary:
      'Add a program that speaks the Agent Client Protocol. It is stored in config.json and runs as the user of the server',
    scope: 'admin',
    limits: 'none',
    body: NewAgent,
    reply: AgentInfo,
    status: 201,
  },
  forgetAgent: {
    method: 'DELETE',
    path: '/api/agents/:id',
    summary: 'Remove an agent that a person added; its sessions can still be read',
    scope: 'admin',
    limits: 'none',
    params: byAgent,
    reply: NoContent,
  },
  setAgentKey: {
    method: 'POST',
    path: '/api/agents/:id/key',
    summary: 'Set a key of an agent, which is stored in config.json and never returned',
    scope: 'admin',
    limits: 'none',
    params: byAgent,
    body: AgentKey,
    reply: NoContent,
  },
  removeAgentKey: {
    method: 'DELETE',
    path: '/api/agents/:id/key',
    summary: 'Remove a key of an agent',
    scope: 'admin',
    limits: 'none',
    params: byAgent,
    query: AgentKey.pick({ variable: true }),
    reply: NoContent,
  },
  testAgent: {
    method: 'POST',
    path: '/api/agents/:id/test',
    summary: 'Test an agent: find it, start it in an empty folder and end it, without calling a model',
    scope: 'admin',
    limits: 'none',
    params: byAgent,
    reply: z.object({ checks: z.array(AgentCheck) }),
  },
  installAgent: {
    method: 'POST',
    path: '/api/agents/:id/install',
    summary:
      'Start to install or update an agent, at the tested version; the list of agents reports the progress',
    scope: 'admin',
    limits: 'none',
    params: byAgent,
    reply: z.object({ installing: Installing }),
    status: 202,
  },
  removeAgent: {
    method: 'DELETE',
    path: '/api/agents/:id/install',
    summary: 'Stop the installation of an agent; if none runs, remove what Parley installed',
    scope: 'admin',
    limits: 'none',
    params: byAgent,
    reply: NoContent,
  },
  listConversations: {
    method: 'GET',
    path: '/api/agents/:id/conversations',
    summary: "List conversations of the agent's own history on this machine, latest first",
    scope: 'prompt',
    limits: 'refused',
    params: z.object({ id: AgentId }),
    query: z.object({ cwd: z.string().optional() }),
    reply: z.object({ conversations: z.array(AgentConversation) }),
  },
  importConversation: {
    method: 'POST',
    path: '/api/imports',
    summary: 'Import a conversation as a session; importing it again returns the same session',
    scope: 'prompt',
    limits: 'refused',
    body: NewImport,
    reply: SessionState,
    status: 201,
  },
} as const satisfies Record<string, RouteDefinition>
