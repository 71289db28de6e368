import { routes } from '@parley/protocol'
import { linkLifetimeMs } from '../access.ts'
import { linkTo } from '../link.ts'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountLinks(app: App, parts: AppParts): void {
  const { access } = parts
  mount(app, parts, routes.createLink, ({ context }) => {
    access.devices()
    const code = access.codes.issue(context.get('caller'), linkLifetimeMs)
    return { url: linkTo(parts.url(), code), expiresAt: Date.now() + linkLifetimeMs }
  })
}
