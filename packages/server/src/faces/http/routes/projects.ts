import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountProjects(app: App, parts: AppParts): void {
  mount(app, parts, routes.listProjects, async ({ host }) => ({ projects: await host.projects() }))
  mount(app, parts, routes.patchProject, ({ params, body, host }) => host.patchProject(params.id, body))
}
