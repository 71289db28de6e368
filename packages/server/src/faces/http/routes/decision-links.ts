import { ParleyError, routes } from '@parley/protocol'
import { type DecisionLinks, openDecisionLinks } from '../../../access/index.ts'
import { createAttemptLimits } from '../attempt-limits.ts'
import { type App, type AppParts, mount, urlFor } from '../mount.ts'

/** The routes of decision links: some for the people who create links, others for whoever has a link. */
export function mountDecisionLinks(app: App, parts: AppParts): void {
  const { authentication, decisionLinks: store, decideByLink = 'deny', host } = parts
  const limited = createAttemptLimits(parts)
  let opened: Promise<DecisionLinks> | undefined
  const links = async () => {
    if (!store) throw new ParleyError('not_supported', 'Decisions by links are not enabled on this server.')
    opened ??= openDecisionLinks({
      ...{ store, host, decideByLink },
      principalOf: authentication.principalOf,
      now: parts.clock ?? Date.now,
    })
    return opened
  }
  mount(app, parts, routes.createDecisionLink, async ({ params, body, context }) => {
    const { link, code } = await (await links()).create(context.get('caller').principal, params.id, body)
    return { ...link, url: `${urlFor(parts, context)}/decide#${code}` }
  })
  mount(app, parts, routes.listDecisionLinks, async ({ context }) => ({
    links: await (await links()).list(context.get('caller').principal),
  }))
  mount(app, parts, routes.revokeDecisionLink, async ({ params, context }) => {
    await (await links()).revoke(context.get('caller').principal, params.id)
  })
  mount(app, parts, routes.showLinkedRequest, ({ body, context }) =>
    limited(context, async () => (await links()).show(body.code), 'links'),
  )
  mount(app, parts, routes.decideByLink, ({ body, context }) =>
    limited(
      context,
      async () => ({
        decision: await (await links()).decide(body, ({ decision, link, actor, isCertain }) =>
          host.recordInLedger({
            ...{ kind: 'decision-link.used', subject: link.id, actor },
            address: authentication.clientAddress(context.env.incoming),
            // The hash of the input is left out, because it would confirm a guess of a redacted input.
            data: {
              session: link.session,
              request: link.request,
              decision,
              ...(!isCertain && { outcome: 'unknown' }),
            },
          }),
        ),
      }),
      'links',
    ),
  )
}
