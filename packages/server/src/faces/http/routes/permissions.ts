import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountPermissions(app: App, parts: AppParts): void {
  mount(app, parts, routes.listPermissions, async () => ({ requests: await parts.host.waiting() }))
}
