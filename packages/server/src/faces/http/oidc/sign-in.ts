import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  allScopes,
  type Device,
  deviceName,
  type NewOidcSignIn,
  type OidcRequest,
  ParleyError,
  PersonName,
  type routes,
} from '@parley/protocol'
import { createRateLimit, type DeviceGrant, invitePrefix } from '../../../access/index.ts'
import { type AppParts, type Call, clientOf, type RequestContext } from '../mount.ts'
import { createOneTimeCodes } from '../one-time-codes.ts'
import { createOidcProvider, type OidcAccount, type OidcChecks } from './provider.ts'
import type { OidcSettings } from './settings.ts'

/** The time limit for a person to sign in at the provider. */
const requestLifetimeMs = 10 * 60_000
const attempts = { max: 60, perMs: 60_000 }

/** A sign-in that waits for the provider's answer. */
type Pending = {
  readonly checks: OidcChecks
  readonly redirectUri: string
  readonly secretHash: Buffer
  readonly code: string | undefined
}

export type OidcSignIn = {
  start(call: Call<typeof routes.startOidc>): Promise<OidcRequest>
  finish(call: Call<typeof routes.finishOidc>): Promise<Device>
}

/** Sign-in with an OpenID provider: an authorization code with PKCE, bound to the browser that started it. */
export function createOidcSignIn(parts: AppParts, oidc: OidcSettings): OidcSignIn {
  const { authentication, otherNodes } = parts
  const pending = createOneTimeCodes<Pending>({ suffix: otherNodes?.suffix })
  const limit = createRateLimit({ ...attempts, now: () => performance.now() })
  const provider = createOidcProvider(oidc)
  const countAttempt = (context: RequestContext) => {
    const address = clientOf(parts, context)
    limit.check(address)
    limit.count(address)
  }

  return {
    async start({ body, context }) {
      countAttempt(context)
      const secret = randomBytes(32).toString('base64url')
      const redirectUri = `${parts.address.url}/open`
      const checks = provider.newChecks()
      const waiting = { checks, redirectUri, secretHash: hashOf(secret), code: body.code }
      const state = pending.issue(waiting, requestLifetimeMs)
      const url = await provider.address(redirectUri, { ...checks, state })
      return { url, state, secret, expiresInMs: requestLifetimeMs }
    },
    async finish({ body, context }) {
      countAttempt(context)
      const devices = authentication.devices()
      const credential = devices.credentialOf({ publicKey: body.publicKey })
      const found = pending.redeem(body.state)
      if (!found || !timingSafeEqual(hashOf(body.secret), found.secretHash)) throw notStartedHere()
      const answer = new URL(`${found.redirectUri}?${new URLSearchParams(body.answer)}`)
      const account = await provider.account(answer, { ...found.checks, state: body.state })
      const note = (code: string) => context.set('noted', { code })
      const grant = await grantFor(parts, account, { ...body, code: found.code, note })
      return devices.register(credential, deviceName(context.req.header('User-Agent')), grant)
    },
  }
}

/**
 * The rights of the new browser. An unknown account needs a code. The code of an invitation creates a person with the
 * account; the code of a one-time link adds the account to the person of the link.
 */
async function grantFor(
  { authentication }: AppParts,
  { issuer, subject, name }: OidcAccount,
  {
    code,
    person,
    note,
  }: Pick<NewOidcSignIn, 'person'> & {
    readonly code: string | undefined
    /** Called with the id of the sign-in code that is used. */
    readonly note: (id: string) => void
  },
): Promise<DeviceGrant> {
  const people = authentication.people()
  const identity = { issuer, subject }
  const known = await people.withIdentity(identity)
  if (known) return { personId: known.personId, scopes: allScopes }
  if (code?.startsWith(invitePrefix)) {
    const suggested = PersonName.safeParse(name).data
    const guest = await people.accept(code, { name: person?.name, suggested, identity })
    if (guest) return { personId: guest.personId, scopes: allScopes }
  }
  const link = code === undefined ? undefined : authentication.codes.redeem(code)
  if (link && !(await link.caller.isSignedOut())) {
    expectWhole(link.grant)
    note(link.id)
    await people.addIdentity(link.grant.personId, identity)
    return link.grant
  }
  throw new ParleyError(
    'forbidden',
    'Nobody on this server has this account. Ask an administrator for an invitation, and open its link.',
    { details: { reason: 'not-invited' } },
  )
}

/**
 * Throws ParleyError `forbidden` for a link that does not give all rights of its person, because later sign-ins with
 * the account would get all of them.
 */
function expectWhole({ scopes, limits, expiresAt }: DeviceGrant): void {
  if (allScopes.every((scope) => scopes.includes(scope)) && !limits && expiresAt === undefined) return
  throw new ParleyError(
    'forbidden',
    'This link gives fewer rights than its person has, so no account can be connected with it. Use a link from a browser that has all rights of the person.',
    { details: { reason: 'limited-link' } },
  )
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

function notStartedHere(): ParleyError {
  return new ParleyError(
    'unauthorized',
    'This sign-in was not started by this browser, or has expired. Start it again.',
    { details: { reason: 'oidc' } },
  )
}
