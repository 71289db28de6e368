import { routes } from '@parley/protocol'
import type { App, AppParts } from '../app.ts'
import { mount } from '../mount.ts'

export function mountPermissions(app: App, parts: AppParts): void {
  mount(app, parts, routes.listPermissions, async () => ({ requests: await parts.host.waiting() }))
}
