import { ParleyError, routes } from '@parley/protocol'
import { DecisionLinks } from '../../../access/index.ts'
import { createAttemptLimits } from '../attempt-limits.ts'
import { type App, type AppParts, mount, urlFor } from '../mount.ts'

/** The routes of links that decide one request: for those who create links, and for whoever holds one. */
export function mountDecisionLinks(app: App, parts: AppParts): void {
  const { authentication, decisionLinks: store, decideByLink = 'deny', host } = parts
  const limited = createAttemptLimits(parts)
  const made =
    store &&
    new DecisionLinks({
      ...{ store, host, decideByLink },
      principalOf: authentication.principalOf,
      now: parts.clock ?? Date.now,
    })
  const links = () => {
    if (made) return made
    throw new ParleyError('not_supported', 'Decisions by links are not enabled on this server.')
  }
  mount(app, parts, routes.createDecisionLink, async ({ params, body, context }) => {
    const { link, code } = await links().create(context.get('caller').principal, params.id, body)
    return { ...link, url: `${urlFor(parts, context)}/decide#${code}` }
  })
  mount(app, parts, routes.listDecisionLinks, async ({ context }) => ({
    links: await links().list(context.get('caller').principal),
  }))
  mount(app, parts, routes.revokeDecisionLink, async ({ params, context }) => {
    await links().revoke(context.get('caller').principal, params.id)
  })
  mount(app, parts, routes.showLinkedRequest, ({ body, context }) =>
    limited(context, () => links().show(body.code), 'codes'),
  )
  mount(app, parts, routes.decideByLink, ({ body, context }) =>
    limited(
      context,
      async () => {
        const { decision, link, actor } = await links().decide(body)
        const { id: subject, session, request, inputHash } = link
        await host.recordInLedger({
          ...{ kind: 'decision-link.used', subject, actor },
          address: authentication.clientAddress(context.env.incoming),
          data: { session, request, inputHash, decision },
        })
        return { decision }
      },
      'codes',
    ),
  )
}
