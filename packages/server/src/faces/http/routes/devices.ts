import { allScopes, defined, hasCode, type NewDevice, ParleyError, routes } from '@parley/protocol'
import {
  type Caller,
  createRateLimit,
  type DeviceGrant,
  expectRevocable,
  expectScopes,
  invitePrefix,
  machineId,
  maySee,
} from '../../../access/index.ts'
import {
  type Authentication,
  linkLifetimeMs,
  linkTo,
  machineCode,
  type SignInCode,
} from '../authentication.ts'
import { deviceName } from '../device-name.ts'
import { type App, type AppParts, isFromNode, mount, type RequestContext } from '../mount.ts'
import type { OidcSignIn } from '../oidc/sign-in.ts'

const failures = { max: 300, perMs: 60_000 }

export function mountDevices(app: App, parts: AppParts): void {
  const { authentication, commandLine } = parts
  const limit = createRateLimit({ ...failures, now: () => performance.now() })

  /** Limits the rate of failures per address. */
  async function guarded<Reply>(context: RequestContext, work: () => Promise<Reply>): Promise<Reply> {
    const { incoming } = context.env
    const passed = isFromNode(context) ? parts.otherNodes?.clientAddress(incoming) : undefined
    const address = passed ?? incoming.socket.remoteAddress ?? ''
    limit.check(address)
    try {
      return await work()
    } catch (error) {
      if (hasCode(error, 'unauthorized')) limit.count(address)
      throw error
    }
  }

  mount(app, parts, routes.createLink, async ({ context }) => {
    await authentication.devices().list()
    const code = authentication.codes.issue(codeOf(authentication, context.get('caller')), linkLifetimeMs)
    return { url: linkTo(parts.url(), code), expiresAt: Date.now() + linkLifetimeMs }
  })
  mount(app, parts, routes.listDevices, async ({ context }) => {
    const { principal } = context.get('caller')
    const devices = await authentication.devices().list()
    return {
      devices: devices
        .filter(({ deviceId, personId }) => maySee(principal, { id: deviceId, personId }))
        .map((device) => (principal.id === device.deviceId ? { ...device, current: true as const } : device)),
    }
  })
  mount(app, parts, routes.createDevice, ({ body, context }) =>
    guarded(context, async () => {
      const devices = authentication.devices()
      devices.checkKey(body.publicKey)
      const grant = await grantOf(authentication, body)
      if (grant) return devices.register(body.publicKey, deviceName(context.req.header('User-Agent')), grant)
      throw new ParleyError(
        'unauthorized',
        `This link was used or has expired. To create a new one, run: ${commandLine('token --link')}`,
        { details: { reason: 'link' } },
      )
    }),
  )
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
    if (caller.kind === 'device') await authentication.devices().revoke(caller.principal.id)
  })
  mountOidc(app, parts)
  mount(app, parts, routes.createNonce, () => authentication.devices().nonce())
  mount(app, parts, routes.createAccessToken, ({ body, context }) =>
    guarded(context, () =>
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

/**
 * A code for another browser of the caller, with the same rights. Only a browser may create one, or a caller with the
 * scope admin: a token that expires must not leave a browser behind that does not.
 */
function codeOf(authentication: Authentication, caller: Caller): SignInCode {
  const { kind, principal } = caller
  const { person, scopes, limits, expiresAt } = principal
  if (kind === 'embedded')
    throw new ParleyError('not_supported', 'The server that embeds Parley signs its users in.')
  if (kind !== 'device') expectScopes(principal, ['admin'])
  const grant = kind === 'device' && authentication.devices().grantOf(principal.id)
  if (grant) return { caller, grant }
  // Without this, a server that never printed a link could get no browser that decides.
  if (principal.id === machineId && authentication.devices().isFirst) return machineCode(authentication)
  return { caller, grant: { personId: person.id, scopes: [...scopes], ...defined({ limits, expiresAt }) } }
}

/** The rights that a sign-in code gives. Undefined if the code is unknown, used or expired. */
async function grantOf(
  { codes, people }: Authentication,
  { code, person }: NewDevice,
): Promise<DeviceGrant | undefined> {
  if (code.startsWith(invitePrefix)) {
    const guest = await people().accept(code, { name: person?.name })
    return guest && { personId: guest.personId, scopes: allScopes }
  }
  const found = codes.redeem(code)
  return found && !(await found.caller.isSignedOut()) ? found.grant : undefined
}
