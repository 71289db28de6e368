import { defined, routes } from '@parley/protocol'
import type { Host } from '../../../core/index.ts'
import { type App, type AppParts, isFromNode, mount, type RequestContext } from '../mount.ts'

export function mountRounds(app: App, parts: AppParts): void {
  const { workspace, otherNodes } = parts
  const partsFor = (host: Host, context: RequestContext) => ({
    ...{ host, workspace },
    ...(!isFromNode(context) && { otherNodes }),
  })
  mount(app, parts, routes.createRound, ({ body, host }) => host.createRound(body))
  mount(app, parts, routes.listRounds, ({ query, host }) => host.rounds(defined(query)))
  mount(app, parts, routes.getRound, async ({ params, host, context }) => {
    const round = await host.round(params.id)
    return (await comparing()).withChanges(partsFor(host, context), round)
  })
  mount(app, parts, routes.compareAttempts, async ({ params, query, host, context }) =>
    (await comparing()).compareAttempts(partsFor(host, context), { id: params.id, ...query }),
  )
  mount(app, parts, routes.getAttemptPatch, async ({ params, query, host, context }) =>
    (await comparing()).patchOfAttempt(partsFor(host, context), { id: params.id, ...query }),
  )
}

/** Loaded on first use, because a server does not need it at its start. */
const comparing = () => import('../attempt-changes.ts')
