import { hasCode, ParleyError, routes } from '@parley/protocol'
import { isSignedOut, linkLifetimeMs, linkTo } from '../authentication.ts'
import { deviceName } from '../device-name.ts'
import { type App, type AppParts, isFromNode, mount, type RequestContext } from '../mount.ts'
import { createRateLimit } from '../rate-limit.ts'

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

  mount(app, parts, routes.createLink, ({ context }) => {
    authentication.devices()
    const code = authentication.codes.issue(context.get('caller'), linkLifetimeMs)
    return { url: linkTo(parts.url(), code), expiresAt: Date.now() + linkLifetimeMs }
  })
  mount(app, parts, routes.listDevices, async ({ context }) => {
    const caller = context.get('caller')
    const devices = await authentication.devices().list()
    return {
      devices: devices.map((device) =>
        caller.kind === 'device' && caller.deviceId === device.deviceId
          ? { ...device, current: true as const }
          : device,
      ),
    }
  })
  mount(app, parts, routes.createDevice, ({ body, context }) =>
    guarded(context, async () => {
      const devices = authentication.devices()
      devices.checkKey(body.publicKey)
      const maker = authentication.codes.redeem(body.code)
      if (maker && !(await isSignedOut(maker))) {
        return devices.register(body.publicKey, deviceName(context.req.header('User-Agent')))
      }
      throw new ParleyError(
        'unauthorized',
        `This link was used or has expired. To create a new one, run: ${commandLine('token --link')}`,
        { details: { reason: 'link' } },
      )
    }),
  )
  mount(app, parts, routes.revokeDevice, async ({ params, context }) => {
    context.get('keepWhenRevoked')()
    await authentication.devices().revoke(params.id)
  })
  mount(app, parts, routes.signOut, async ({ context }) => {
    const caller = context.get('caller')
    context.get('keepWhenRevoked')()
    if (caller.kind === 'device') await authentication.devices().revoke(caller.deviceId)
  })
  mount(app, parts, routes.createNonce, () => authentication.devices().nonce())
  mount(app, parts, routes.createAccessToken, ({ body, context }) =>
    guarded(context, () =>
      authentication.devices().accessToken({ ...body, origin: context.req.header('Origin') ?? '' }),
    ),
  )
}
