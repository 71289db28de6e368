import { type Actor, defined, type Limits, ParleyError, type Scope, type Via } from '@parley/protocol'
import { isWithin } from '../core/index.ts'

/** The person behind a request, the device, token or link that the person uses, and its scopes and limits. */
export type Principal = {
  readonly person: Actor['person']
  readonly kind: 'device' | 'token' | 'link' | 'embedded'
  /** The id of the device, token or link. */
  readonly id: string
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** Absent if the principal may use every session, folder and agent. */
  readonly limits?: Limits | undefined
  readonly expiresAt?: number | undefined
  /** Set if the token lacks the scope decide because the server accepts decisions only from browsers. */
  readonly isBarredFromDeciding?: true
  /** Only for an embedded principal: aborts when the access ends. Its connections are then closed. */
  readonly signal?: AbortSignal
  /** Only for a device: the public key that verifies the signatures of its answers, as SPKI in base64url. */
  readonly publicKey?: string | undefined
}

export function actorOf({ person, kind, id, name }: Principal, via: Via): Actor {
  return { person, ...(kind !== 'embedded' && { [kind]: { id, name } }), via }
}

/** Scopes that limits cannot restrict: a shell can read every folder, and an administrator can grant more rights. */
const unlimitable: readonly Scope[] = ['terminal', 'admin']

/** True if the principal has the scope. A principal with limits never has a scope that limits cannot restrict. */
export function holds({ scopes, limits }: Principal, scope: Scope): boolean {
  return scopes.has(scope) && !(limits && unlimitable.includes(scope))
}

/**
 * True if the access of the principal has ended. Connections that are open at that moment are closed by their face.
 */
export function isOver({ expiresAt, signal }: Principal): boolean {
  return signal?.aborted === true || (expiresAt !== undefined && expiresAt <= Date.now())
}

/**
 * Throws ParleyError `forbidden` unless the principal holds all these scopes, and `unauthorized` if its access has
 * ended.
 */
export function expectScopes(principal: Principal, needed: readonly Scope[]): void {
  if (isOver(principal))
    throw new ParleyError('unauthorized', `The access of "${principal.name}" has ended. Sign in again.`)
  const missing = needed.find((scope) => !holds(principal, scope))
  if (missing === undefined) return
  const { name, scopes, isBarredFromDeciding } = principal
  const message =
    missing === 'decide' && isBarredFromDeciding
      ? `This server accepts decisions only from signed-in browsers (decideFrom: devices), and "${name}" is a token. Decide in the console.`
      : `This needs the scope "${missing}", which "${name}" does not have. Ask an administrator of this server for it.`
  throw new ParleyError('forbidden', message, { details: { scope: missing, scopes: [...scopes] } })
}

/** The rights, the id and the person of a device or a token. */
export type Held = Rights & { readonly id: string; readonly personId: string }

/**
 * True if the principal may see the device or token. An administrator sees all, a browser sees those of its person,
 * and a token sees only itself.
 */
export function maySee(principal: Principal, { id, personId }: Pick<Held, 'id' | 'personId'>): boolean {
  if (holds(principal, 'admin') || id === principal.id) return true
  return principal.kind === 'device' && personId === principal.person.id
}

/**
 * Throws ParleyError `forbidden` unless the principal may revoke the device or token. A browser may revoke the browsers
 * and tokens of its person, except those with more rights. A token may revoke only itself: a thief of the token must
 * not be able to sign its person out.
 */
export function expectRevocable(principal: Principal, held: Held): void {
  if (holds(principal, 'admin') || held.id === principal.id) return
  if (!maySee(principal, held)) return expectScopes(principal, ['admin'])
  const own = rightsOf(principal)
  if (!held.scopes.every((scope) => own.scopes.includes(scope)) || !isNarrower(held.limits, own.limits))
    throw new ParleyError(
      'forbidden',
      'The browser or token to revoke has more rights than this browser. Use a browser that has these rights.',
      {
        details: { given: 'revocation' },
      },
    )
}

/** The most that a principal can grant: its own rights. */
export function rightsOf({ scopes, limits, expiresAt }: Principal): Rights {
  return { scopes: [...scopes], ...defined({ limits, expiresAt }) }
}

/** The folder and the agent of a session. Neither changes while the session exists. */
export type SessionFacts = {
  readonly id: string
  readonly cwd: string
  readonly place?: string | undefined
  readonly agent: string
}

export function permitsSession(limits: Limits | undefined, session: SessionFacts): boolean {
  if (!limits) return true
  const { sessions } = limits
  return (
    (sessions === undefined || sessions.includes(session.id)) &&
    permitsFolder(limits, { folder: session.cwd, place: session.place }) &&
    permitsAgent(limits, session.agent)
  )
}

export type FolderAt = { readonly folder: string; readonly place?: string | undefined }

/** `folder` must be a real path. */
export function permitsFolder({ folders }: Limits, at: FolderAt): boolean {
  return folders === undefined || folders.some((one) => contains(one, at))
}

export function permitsAgent(limits: Limits | undefined, agent: string): boolean {
  return limits?.agents?.includes(agent) !== false
}

function contains(outer: FolderAt, inner: FolderAt): boolean {
  return outer.place === inner.place && isWithin(inner.folder, outer.folder)
}

export type Rights = {
  readonly scopes: readonly Scope[]
  readonly limits?: Limits | undefined
  readonly expiresAt?: number | undefined
}

/** Throws a ParleyError unless a principal with the rights `held` may give the rights `given`. */
export function expectGrantable(given: Rights, held: Rights): void {
  const more = given.scopes.find((scope) => !held.scopes.includes(scope))
  if (more !== undefined) throw tooMuch(`the scope "${more}", which you do not have`, 'scope')
  if (!isNarrower(given.limits, held.limits))
    throw tooMuch('access to more sessions, folders or agents than you have', 'limits')
  if ((given.expiresAt ?? Number.POSITIVE_INFINITY) > (held.expiresAt ?? Number.POSITIVE_INFINITY))
    throw tooMuch('access for a longer time than you have', 'time')
  const unlimited = unlimitable.find((scope) => given.scopes.includes(scope))
  if (given.limits === undefined || unlimited === undefined) return
  throw new ParleyError(
    'validation_error',
    `The scope "${unlimited}" cannot be limited to sessions, folders or agents. Omit the scope or the limits.`,
  )
}

function tooMuch(what: string, given: 'scope' | 'limits' | 'time'): ParleyError {
  return new ParleyError('forbidden', `You cannot give ${what}.`, { details: { given } })
}

function isNarrower(given: Limits | undefined, held: Limits | undefined): boolean {
  if (held === undefined) return true
  const { sessions, agents, folders } = given ?? {}
  const isPart = (part: readonly string[] | undefined, whole: readonly string[] | undefined) =>
    whole === undefined || part?.every((one) => whole.includes(one)) === true
  return (
    isPart(sessions, held.sessions) &&
    isPart(agents, held.agents) &&
    (held.folders === undefined || folders?.every((one) => permitsFolder(held, one)) === true)
  )
}

/** Throws ParleyError `forbidden` if the principal has limits. Used by operations that limits cannot restrict. */
export function expectNoLimits({ name, limits }: Principal): void {
  if (!limits) return
  const kinds = Object.keys(limits).join(' and ')
  throw new ParleyError(
    'forbidden',
    `This covers more than the ${kinds} to which "${name}" is limited. Use a token or a browser without limits.`,
    { details: { limits: true } },
  )
}

export function outsideLimits(what: string): ParleyError {
  return new ParleyError('forbidden', `${what} is outside the limits of this token or browser.`, {
    details: { limits: true },
  })
}
