import { ParleyError, routes } from '@parley/protocol'
import type { Targets } from '../../../alerts/targets.ts'
import { type App, type AppParts, mount, type RequestContext } from '../mount.ts'

export function mountTargets(app: App, parts: AppParts): void {
  const targets = (): Promise<Targets> => {
    if (parts.targets) return parts.targets()
    throw new ParleyError('not_supported', 'Alerts are not available on this server.')
  }
  const principalOf = (context: RequestContext) => context.get('caller').principal
  mount(app, parts, routes.listTargets, async ({ context }) => (await targets()).list(principalOf(context)))
  mount(app, parts, routes.createTarget, async ({ body, context }) =>
    (await targets()).add(principalOf(context), body),
  )
  mount(app, parts, routes.patchTarget, async ({ params, body, context }) =>
    (await targets()).patch(principalOf(context), params.id, body),
  )
  mount(app, parts, routes.removeTarget, async ({ params, context }) =>
    (await targets()).remove(principalOf(context), params.id),
  )
  mount(app, parts, routes.testTarget, async ({ params, context }) =>
    (await targets()).test(principalOf(context), params.id),
  )
}
