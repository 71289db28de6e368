import { z } from 'zod'
import { Project, ProjectId, ProjectPatch } from './project.ts'
import type { RouteDefinition } from './route.ts'

export const projectRoutes = {
  listProjects: {
    method: 'GET',
    path: '/api/projects',
    summary: 'List the projects of all sessions, the most recently used first',
    scope: 'read',
    limits: 'handled',
    reply: z.object({ projects: z.array(Project) }),
  },
  patchProject: {
    method: 'PATCH',
    path: '/api/projects/:id',
    summary:
      'Change the settings of a project. name needs the scope prompt, keepDays needs admin, and the other settings need admin and decide',
    scope: 'prompt',
    limits: 'refused',
    params: z.object({ id: ProjectId }),
    body: ProjectPatch,
    reply: Project,
  },
} as const satisfies Record<string, RouteDefinition>
