import {
  allScopes,
  defined,
  deviceName,
  groupedCode,
  type NewDevice,
  type NewPairing,
  newId,
  ParleyError,
  pairingCodeOf,
  routes,
} from '@parley/protocol'
import {
  type Caller,
  expectGrantable,
  expectRevocable,
  expectScopes,
  invitePrefix,
  machineId,
  maySee,
} from '../../../access/index.ts'
import type { Host } from '../../../core/index.ts'
import { createAttemptLimits, type LimitedWork } from '../attempt-limits.ts'
import {
  type Authentication,
  linkLifetimeMs,
  linkTo,
  machineCode,
  pairingLifetimeMs,
  type SignInCode,
} from '../authentication.ts'
import type { CommandLine } from '../command-line.ts'
import { type App, type AppParts, mount, urlFor } from '../mount.ts'
import type { OidcSignIn } from '../oidc/sign-in.ts'
import { rightsIn } from './people.ts'

export function mountDevices(app: App, parts: AppParts): void {
  const { authentication } = parts
  const limited = createAttemptLimits(parts)
  mountSignIn(app, parts, limited)
  mount(app, parts, routes.listDevices, async ({ context }) => {
    const { principal } = context.get('caller')
    const devices = await authentication.devices().list()
    return {
      devices: devices
        .filter(({ deviceId, personId }) => maySee(principal, { id: deviceId, personId }))
        .map((device) => (principal.id === device.deviceId ? { ...device, current: true as const } : device)),
    }
  })
  mount(app, parts, routes.revokeDevice, async ({ params, context }) => {
    const { principal } = context.get('caller')
    const device = (await authentication.devices().list()).find(({ deviceId }) => deviceId === params.id)
    if (device) expectRevocable(principal, { ...device, id: device.deviceId })
    context.get('keepWhenRevoked')()
    await authentication.devices().revoke(params.id)
  })
  mount(app, parts, routes.signOut, async ({ context }) => {
    const caller = context.get('caller')
    context.get('keepWhenRevoked')()
    if (caller.kind !== 'device') return
    await authentication.devices().revoke(caller.principal.id)
    context.set('noted', { device: caller.principal.id })
  })
  mountOidc(app, parts)
  mount(app, parts, routes.createNonce, () => authentication.devices().nonce())
  mount(app, parts, routes.createAccessToken, ({ body, context }) =>
    limited(context, () =>
      authentication.devices().accessToken({ ...body, origin: context.req.header('Origin') ?? '' }),
    ),
  )
}

/** The provider is loaded with the first request that needs it. */
function mountOidc(app: App, parts: AppParts): void {
  const { oidc } = parts
  let loaded: Promise<OidcSignIn> | undefined
  const signIn = () => {
    if (!oidc) throw new ParleyError('not_supported', 'No OpenID provider is configured on this server.')
    loaded ??= import('../oidc/sign-in.ts').then(({ createOidcSignIn }) => createOidcSignIn(parts, oidc))
    return loaded
  }
  mount(app, parts, routes.getSignIn, () => ({
    ...(oidc && { oidc: { name: oidc.name ?? new URL(oidc.issuer).host } }),
  }))
  mount(app, parts, routes.startOidc, async (call) => (await signIn()).start(call))
  mount(app, parts, routes.finishOidc, async (call) => (await signIn()).finish(call))
}

/** Mounts the routes that create codes, and the route that signs a browser in with a code. */
function mountSignIn(app: App, parts: AppParts, limited: LimitedWork): void {
  const { authentication, commandLine } = parts
  mount(app, parts, routes.createLink, async ({ context }) => {
    await authentication.devices().list()
    const given = codeOf(authentication, context.get('caller'))
    context.set('noted', { code: given.id, ...given.grant })
    const code = authentication.codes.issue(given, linkLifetimeMs)
    return { url: linkTo(urlFor(parts, context), code), expiresAt: Date.now() + linkLifetimeMs }
  })
  mount(app, parts, routes.createPairing, async ({ body, host, context }) => {
    await authentication.devices().list()
    authentication.devices()
    const grant = await pairingOf(codeOf(authentication, context.get('caller')), body, host)
    context.set('noted', { code: grant.id, ...grant.grant })
    const code = authentication.pairings.issue(grant, pairingLifetimeMs)
    return {
      code: groupedCode(code),
      url: `${urlFor(parts, context)}/pair#${code}`,
      expiresAt: Date.now() + pairingLifetimeMs,
      scopes: grant.grant.scopes.filter((scope) => grant.caller.principal.scopes.has(scope)),
    }
  })
  mount(app, parts, routes.setPublicUrl, ({ body }) => {
    parts.address.set(body.url)
    parts.logger.info({ url: parts.address.url }, 'the public URL was set')
    return { url: parts.address.url }
  })
  mount(app, parts, routes.createDevice, ({ body, context }) => {
    const letters = pairingCodeOf(body.code)
    const register = async () => {
      const devices = authentication.devices()
      const credential = devices.credentialOf(body)
      const found = await signInOf(authentication, body, letters)
      if (!found) throw unknownCode(letters === undefined ? 'link' : 'code', commandLine)
      context.set('noted', { code: found.id })
      const name = body.name ?? found.name ?? deviceName(context.req.header('User-Agent'))
      return devices.register(credential, name, found.grant)
    }
    return limited(context, register, letters === undefined ? 'failures' : 'codes')
  })
}

/**
 * A code for another browser of the caller, with the same rights. Only a browser, or a caller with the scope admin, may
 * create such a code: an expiring token must not create a browser that does not expire.
 */
function codeOf(authentication: Authentication, caller: Caller): SignInCode {
  const { kind, principal } = caller
  const { person, scopes, limits, expiresAt } = principal
  if (kind === 'embedded')
    throw new ParleyError('not_supported', 'The server that embeds Parley signs its users in.')
  if (kind !== 'device') expectScopes(principal, ['admin'])
  const grant = kind === 'device' && authentication.devices().grantOf(principal.id)
  const id = newId('sgn')
  if (grant) return { id, caller, grant }
  // The first browser gets every scope. Otherwise no browser could get `decide` on a server that printed no
  // link.
  if (principal.id === machineId && authentication.devices().isFirst) return machineCode(authentication)
  return {
    id,
    caller,
    grant: { personId: person.id, scopes: [...scopes], ...defined({ limits, expiresAt }) },
  }
}

/** The rights that a pairing code of the caller gives: at most those of the caller. */
async function pairingOf(own: SignInCode, body: NewPairing, host: Host): Promise<SignInCode> {
  const { scopes, limits, expiresAt } = await rightsIn(host, {
    ...body,
    scopes: body.scopes ?? [...own.grant.scopes],
  })
  const grant = {
    personId: own.grant.personId,
    scopes,
    ...defined({ limits: limits ?? own.grant.limits, expiresAt: expiresAt ?? own.grant.expiresAt }),
  }
  // A device may have scopes that the role of its person does not permit. They are copied by default, but cannot be
  // requested.
  const held = body.scopes ? [...own.caller.principal.scopes] : own.grant.scopes
  expectGrantable(grant, { ...own.grant, scopes: held })
  return { ...own, grant, ...defined({ name: body.name }) }
}

/**
 * The rights of a sign-in code; undefined if the code is unknown, used or expired. `letters` are the letters of a
 * pairing code.
 */
async function signInOf(
  { codes, pairings, people }: Authentication,
  { code, person }: NewDevice,
  letters: string | undefined,
): Promise<(Pick<SignInCode, 'grant' | 'name'> & { readonly id?: string }) | undefined> {
  if (code.startsWith(invitePrefix)) {
    const guest = await people().accept(code, { name: person?.name })
    return guest && { grant: { personId: guest.personId, scopes: allScopes } }
  }
  const found = letters === undefined ? codes.redeem(code) : pairings.redeem(letters)
  return found && !(await found.caller.isSignedOut()) ? found : undefined
}

function unknownCode(kind: 'link' | 'code', commandLine: CommandLine): ParleyError {
  const what = kind === 'link' ? 'link was used or' : 'code is mistyped, was used or'
  const command = commandLine(kind === 'link' ? 'token --link' : 'pair')
  return new ParleyError('unauthorized', `This ${what} has expired. To create a new one, run: ${command}`, {
    details: { reason: 'link', code: kind === 'link' ? 'link' : 'pairing' },
  })
}
