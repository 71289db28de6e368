import { z } from 'zod'
import { NewRule, WaitingRequest } from './api-bodies.ts'
import { EnvironmentInfo, NewEnvironment, OldEnvironment } from './environment.ts'
import { PermissionRule } from './permission.ts'
import { NoContent, type RouteDefinition } from './route.ts'
import { NewTrust, TrustedFolder } from './trusted-folder.ts'

export const permissionRoutes = {
  listPermissions: {
    method: 'GET',
    path: '/api/permissions',
    summary: 'List the open requests of all sessions',
    scope: 'read',
    limits: 'handled',
    reply: z.object({ requests: z.array(WaitingRequest) }),
  },
  listRules: {
    method: 'GET',
    path: '/api/rules',
    summary: 'List standing permission rules and grants',
    scope: 'read',
    limits: 'refused',
    reply: z.object({ rules: z.array(PermissionRule) }),
  },
  createRule: {
    method: 'POST',
    path: '/api/rules',
    summary: 'Add a rule',
    scope: ['admin', 'decide'],
    limits: 'none',
    body: NewRule,
    reply: PermissionRule,
    status: 201,
  },
  deleteRule: {
    method: 'DELETE',
    path: '/api/rules/:id',
    summary: 'Remove a rule',
    scope: 'admin',
    limits: 'none',
    params: z.object({ id: z.string() }),
    reply: NoContent,
  },
  listTrustedFolders: {
    method: 'GET',
    path: '/api/trust',
    summary:
      'List trusted folders: agents may load the settings, hooks and MCP servers of these and of all folders inside them',
    scope: 'read',
    limits: 'refused',
    reply: z.object({ folders: z.array(TrustedFolder) }),
  },
  trustFolder: {
    method: 'POST',
    path: '/api/trust',
    summary: 'Trust a folder and all folders inside it; takes effect when an agent next starts there',
    scope: ['admin', 'decide'],
    limits: 'none',
    body: NewTrust,
    reply: TrustedFolder,
    status: 201,
  },
  distrustFolder: {
    method: 'DELETE',
    path: '/api/trust',
    summary: 'Stop trusting a folder',
    scope: 'admin',
    limits: 'none',
    query: NewTrust,
    reply: NoContent,
  },
  listEnvironments: {
    method: 'GET',
    path: '/api/environment',
    summary: 'List the names of the environment variables that are set for agents, by session or folder',
    scope: 'read',
    limits: 'refused',
    reply: z.object({ environments: z.array(EnvironmentInfo) }),
  },
  setEnvironment: {
    method: 'POST',
    path: '/api/environment',
    summary:
      'Set variables for the agent of a session, or of all sessions in a folder; they take effect when the agent next starts',
    scope: ['admin', 'decide'],
    limits: 'none',
    body: NewEnvironment,
    reply: EnvironmentInfo,
    status: 201,
  },
  unsetEnvironment: {
    method: 'DELETE',
    path: '/api/environment',
    summary: 'Remove one variable, or all variables, of a session or a folder',
    scope: 'admin',
    limits: 'none',
    query: OldEnvironment,
    reply: NoContent,
  },
} as const satisfies Record<string, RouteDefinition>
