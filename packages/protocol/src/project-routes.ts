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
      'Change the settings of a project. name and base need the scope prompt, the others admin; setup and check also need decide',
    scope: 'prompt',
    limits: 'refused',
    params: z.object({ id: ProjectId }),
    body: ProjectPatch,
    reply: Project,
  },
} as const satisfies Record<string, RouteDefinition>
