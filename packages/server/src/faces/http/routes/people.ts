import { defined, type NewToken, ParleyError, roleScopes, routes } from '@parley/protocol'
import {
  expectGrantable,
  expectRevocable,
  expectScopes,
  maySee,
  type Rights,
  rightsOf,
} from '../../../access/index.ts'
import type { Host } from '../../../core/index.ts'
import { linkTo } from '../authentication.ts'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountPeople(app: App, parts: AppParts): void {
  const { authentication } = parts
  mount(app, parts, routes.getMe, async ({ context }) => {
    const { kind, principal } = context.get('caller')
    const { id, name, scopes, limits } = principal
    const stored = await authentication.personOf(principal)
    const { id: personId, name: ownName } = principal.person
    return {
      person: { ...(stored ?? { personId, name: ownName }), current: true as const },
      kind: kind === 'node' ? 'token' : kind,
      ...{ id, name, scopes: [...scopes] },
      ...defined({ limits }),
      features: { terminals: parts.terminals !== undefined, alerts: parts.targets !== undefined },
    }
  })
  mount(app, parts, routes.listPeople, async ({ context }) => {
    const own = context.get('caller').principal.person.id
    const people = await authentication.people().list()
    return {
      people: people.map((person) =>
        person.personId === own ? { ...person, current: true as const } : person,
      ),
    }
  })
  mount(app, parts, routes.patchPerson, async ({ params, body, context }) => {
    const { role } = await authentication.people().get(params.id)
    // A person whose role changes, or who is enabled again, gets the scopes of the role.
    if (body.role !== undefined || body.disabled === false)
      expectGrantable({ scopes: roleScopes[body.role ?? role] }, rightsOf(context.get('caller').principal))
    context.get('keepWhenRevoked')()
    return authentication.people().patch(params.id, body)
  })
  mount(app, parts, routes.listInvites, async () => ({ invites: await authentication.people().invites() }))
  mount(app, parts, routes.createInvite, async ({ body, context }) => {
    expectGrantable({ scopes: roleScopes[body.role] }, rightsOf(context.get('caller').principal))
    const { invite, code } = await authentication.people().invite(body)
    return { ...invite, url: linkTo(parts.address.url, code) }
  })
  mount(app, parts, routes.revokeInvite, ({ params }) => authentication.people().withdraw(params.id))
  mountTokens(app, parts)
}

function mountTokens(app: App, parts: AppParts): void {
  const { authentication } = parts
  mount(app, parts, routes.listTokens, async ({ context }) => {
    const { principal } = context.get('caller')
    const tokens = (await authentication.tokens().list()).filter(({ tokenId, personId }) =>
      maySee(principal, { id: tokenId, personId }),
    )
    return {
      tokens: tokens.map((token) =>
        token.tokenId === principal.id ? { ...token, current: true as const } : token,
      ),
    }
  })
  mount(app, parts, routes.createToken, async ({ body, context, host }) => {
    const caller = context.get('caller')
    if (caller.kind === 'embedded')
      throw new ParleyError('not_supported', 'The server that embeds Parley authenticates its users.')
    // An expiring token must not create a token that does not expire.
    if (caller.kind !== 'device') expectScopes(caller.principal, ['admin'])
    const rights = await rightsIn(host, body)
    expectGrantable(rights, rightsOf(caller.principal))
    return authentication.tokens().create(body.name, { ...rights, personId: caller.principal.person.id })
  })
  mount(app, parts, routes.revokeToken, async ({ params, context }) => {
    const { principal } = context.get('caller')
    const token = (await authentication.tokens().list()).find(({ tokenId }) => tokenId === params.id)
    if (token) expectRevocable(principal, { ...token, id: token.tokenId })
    context.get('keepWhenRevoked')()
    await authentication.tokens().revoke(params.id)
  })
}

/** The rights in a body, with the real paths of their folders. */
export async function rightsIn(
  host: Host,
  { scopes, limits, lifetimeMs }: Pick<NewToken, 'scopes' | 'limits' | 'lifetimeMs'>,
): Promise<Rights> {
  const folders = limits?.folders
  const located =
    folders && (await Promise.all(folders.map((one) => host.locateFolder(one.folder, one.place))))
  return {
    scopes: [...new Set(scopes)],
    ...(limits && { limits: { ...limits, ...(located && { folders: located.map((one) => defined(one)) }) } }),
    ...(lifetimeMs !== undefined && { expiresAt: Date.now() + lifetimeMs }),
  }
}
