import { routes } from '@parley/protocol'
import { linkLifetimeMs } from '../authentication.ts'
import { linkTo } from '../link.ts'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountLinks(app: App, parts: AppParts): void {
  const { authentication } = parts
  mount(app, parts, routes.createLink, ({ context }) => {
    authentication.devices()
    const code = authentication.codes.issue(context.get('caller'), linkLifetimeMs)
    return { url: linkTo(parts.url(), code), expiresAt: Date.now() + linkLifetimeMs }
  })
}
