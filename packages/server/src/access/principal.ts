import { type Actor, type Limits, ParleyError, type Scope, type Via } from '@parley/protocol'

/** The person behind a request, the means by which the person gets access, and what these permit. */
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
}

export function actorOf({ person, kind, id, name }: Principal, via: Via): Actor {
  return { person, ...(kind !== 'embedded' && { [kind]: { id, name } }), via }
}

/** Throws ParleyError `forbidden` unless the principal holds all these scopes. */
export function expectScopes({ scopes, name }: Principal, needed: readonly Scope[]): void {
  const missing = needed.find((scope) => !scopes.has(scope))
  if (missing === undefined) return
  throw new ParleyError(
    'forbidden',
    `This needs the scope "${missing}", which "${name}" does not have. Ask an administrator of this server for it.`,
    { details: { scope: missing, scopes: [...scopes] } },
  )
}

/** Whether the principal may see and revoke the devices and tokens of the person. */
export function mayManage({ person, scopes }: Principal, personId: string): boolean {
  return person.id === personId || scopes.has('admin')
}

/** Where a session works and with which agent. Neither changes while the session exists. */
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

export function permitsAgent({ agents }: Limits, agent: string): boolean {
  return agents === undefined || agents.includes(agent)
}

function contains(outer: FolderAt, inner: FolderAt): boolean {
  if (outer.place !== inner.place) return false
  const separator = outer.folder.startsWith('/') ? '/' : '\\'
  const start = outer.folder.endsWith(separator) ? outer.folder : outer.folder + separator
  return inner.folder === outer.folder || inner.folder.startsWith(start)
}

export type Rights = {
  readonly scopes: readonly Scope[]
  readonly limits?: Limits | undefined
  readonly expiresAt?: number | undefined
}

/** Scopes whose use no limit can confine: a shell reads every folder, and an administrator can grant more. */
const unlimitable: readonly Scope[] = ['terminal', 'admin']

/** Throws a ParleyError unless a principal with the rights `held` may give the rights `given`. */
export function expectGrantable(given: Rights, held: Rights): void {
  const more = given.scopes.find((scope) => !held.scopes.includes(scope))
  if (more !== undefined) throw tooMuch(`the scope "${more}", which you do not have`)
  if (!isNarrower(given.limits, held.limits))
    throw tooMuch('access to more sessions, folders or agents than you have')
  if ((given.expiresAt ?? Number.POSITIVE_INFINITY) > (held.expiresAt ?? Number.POSITIVE_INFINITY))
    throw tooMuch('access for a longer time than you have')
  const unlimited = unlimitable.find((scope) => given.scopes.includes(scope))
  if (given.limits === undefined || unlimited === undefined) return
  throw new ParleyError(
    'validation_error',
    `The scope "${unlimited}" cannot be limited to sessions, folders or agents. Omit the scope or the limits.`,
  )
}

function tooMuch(what: string): ParleyError {
  return new ParleyError('forbidden', `You cannot give ${what}.`)
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
