import { routes } from '@parley/protocol'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountTrust(app: App, parts: AppParts): void {
  const { host } = parts
  mount(app, parts, routes.listTrustedFolders, async () => ({ folders: await host.trusted() }))
  mount(app, parts, routes.trustFolder, ({ body }) => host.trust(body.folder))
  mount(app, parts, routes.distrustFolder, async ({ query }) => {
    await host.distrust(query.folder)
    return null
  })
}
