import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountWorktrees(app: App, parts: AppParts): void {
  mount(app, parts, routes.offerWorktree, ({ query, host }) => host.offerWorktree(query.cwd))
  mount(app, parts, routes.listWorktrees, async ({ host }) => ({ worktrees: await host.worktrees() }))
  mount(app, parts, routes.getWorktree, ({ params, host }) => host.worktree(params.id))
  mount(app, parts, routes.removeOrphan, ({ params, query, host }) =>
    host.removeOrphan(params.name, query.branch),
  )
}
