import { hash, randomBytes } from 'node:crypto'
import {
  type Actor,
  type DecisionByLink,
  type DecisionLink,
  defaultLinkMs,
  defined,
  type ErrorCode,
  hasCode,
  type LinkDecision,
  type LinkedRequest,
  type LinkProblem,
  longestLinkMs,
  type NewDecisionLink,
  newId,
  type OpenPermissionRequest,
  ParleyError,
  type SessionDetail,
} from '@parley/protocol'
import type { DecisionLinkRecord, DecisionLinkStore } from '../core/decision-link-store.ts'
import type { Host } from '../core/index.ts'
import { expectReach, hostFor } from './guarded-host.ts'
import {
  actorOf,
  expectGrantable,
  expectScopes,
  holds,
  maySee,
  type Principal,
  permitsSession,
} from './principal.ts'
import { createRateLimit } from './rate-limit.ts'

/** The decisions that links can make. `off`: there are no links. `deny`: a link can only deny. */
export type DecideByLink = 'off' | 'deny' | 'allow'

/** The maximum number of links of one request, including used, revoked and expired links. */
export const maxLinksOfRequest = 10
/** The maximum number of links that a person can try to create within a period. */
const creations = { max: 60, perMs: 60_000 }
/** The time for which an expired link stays in the store, so that its holder learns why the link does not work. */
const keptMs = longestLinkMs

export type DecisionLinkParts = {
  readonly store: DecisionLinkStore
  /** The host of the server, without a principal. */
  readonly host: Host
  /** The current principal of a device or a token; undefined if it was revoked. */
  readonly principalOf: (holder: DecisionLinkRecord['createdBy']['holder']) => Promise<Principal | undefined>
  readonly decideByLink: DecideByLink
  /**
   * The time in milliseconds since 1970. A monotonic time is not sufficient, because other nodes and later runs of
   * the server compare these times.
   */
  readonly now: () => number
}

/** The decision of a link, and the actor that is recorded for the decision. */
export type LinkUse = {
  readonly decision: LinkDecision
  readonly link: DecisionLinkRecord
  readonly actor: Actor
  /** False if the owner of the session did not say whether the decision was recorded. */
  readonly isCertain: boolean
}

/**
 * Links that decide one permission request, once. A link has at most the rights of the device or token that created
 * it, and stops working when those rights end.
 */
export class DecisionLinks {
  readonly #parts: DecisionLinkParts
  readonly #creations: ReturnType<typeof createRateLimit>

  constructor(parts: DecisionLinkParts) {
    this.#parts = parts
    this.#creations = createRateLimit({ ...creations, now: parts.now })
  }

  /** Creates a link. The caller must have checked that the session is within the limits of the principal. */
  async create(
    principal: Principal,
    sessionId: string,
    { requestId, inputHash, decisions, name, lifetimeMs }: NewDecisionLink,
  ): Promise<{ readonly link: DecisionLink; readonly code: string }> {
    const { store, host, now } = this.#parts
    const holder = holderOf(principal)
    expectScopes(principal, ['read', 'decide'])
    this.#expectPossible(decisions)
    const session = await host.detail(sessionId, 0)
    const request = linkable(session, requestId)
    if (inputHash !== undefined && inputHash !== request.inputHash) throw otherInput(request)
    const createdAt = now()
    const { expiresAt = Number.POSITIVE_INFINITY } = principal
    const expires = createdAt + (lifetimeMs ?? Math.min(defaultLinkMs, expiresAt - createdAt))
    expectGrantable(
      { scopes: [], limits: principal.limits, expiresAt: expires },
      { scopes: [], ...defined({ limits: principal.limits, expiresAt: principal.expiresAt }) },
    )
    this.#creations.check(principal.person.id)
    this.#creations.count(principal.person.id)
    const code = randomBytes(32).toString('base64url')
    const link: DecisionLinkRecord = {
      id: newId('lnk'),
      hash: hashOf(code),
      session: sessionId,
      request: requestId,
      inputHash: request.inputHash,
      decisions: [...new Set(decisions)],
      name: `link ${name ?? `from ${principal.name}`}`,
      createdBy: { personId: principal.person.id, holder },
      createdAt,
      expiresAt: expires,
    }
    await store.pruneDecisionLinks(createdAt - keptMs)
    if (await store.addDecisionLink(link, maxLinksOfRequest)) return { link: shown(link), code }
    throw new ParleyError(
      'conflict',
      `${maxLinksOfRequest} links were created for this request, which is the maximum. Decide the request in the console.`,
    )
  }

  /** The links that the principal may see and that can still decide. */
  async list(principal: Principal): Promise<DecisionLink[]> {
    const { store, host, now } = this.#parts
    const unrevoked = await store.unrevokedDecisionLinks(now())
    const seen = unrevoked.filter((link) => link.usedAt === undefined && isShownTo(principal, link))
    const sessions = new Map<string, SessionDetail | undefined>()
    for (const { session } of seen)
      if (!sessions.has(session)) sessions.set(session, await sessionOf(host, session))
    return seen
      .filter((link) => {
        const session = sessions.get(link.session)
        return session && permitsSession(principal.limits, session) && isOpenIn(session, link)
      })
      .map(shown)
  }

  /** Rejects with ParleyError `not_found` for a link that the principal may not see or that can no longer decide. */
  async revoke(principal: Principal, linkId: string): Promise<DecisionLink> {
    const { store, host, now } = this.#parts
    const link = (await store.unrevokedDecisionLinks(now())).find(({ id }) => id === linkId)
    const isSeen = link && isShownTo(principal, link)
    if (isSeen) await expectReach(host, principal, link.session)
    // A used link can still be revoked while its request is open, because its decision may be refused.
    const session = isSeen && (await sessionOf(host, link.session))
    const canDecide = session && (link.usedAt === undefined || isOpenIn(session, link))
    if (canDecide && (await store.revokeDecisionLink(linkId, now()))) return shown(link)
    throw new ParleyError(
      'not_found',
      `There is no link ${linkId} that can still decide. List the links to see their ids.`,
    )
  }

  /**
   * Returns the link and its request, as the holder of the code may see them. Rejects with ParleyError `unauthorized`
   * for an unknown code, and `conflict` for a link that no longer works.
   */
  async show(code: string): Promise<LinkedRequest> {
    const { link, request, session, creator } = await this.#valid(code)
    const { id: linkId, name, createdAt, expiresAt } = link
    const { title, cwd, agent } = session
    return {
      ...{ linkId, name, createdAt, expiresAt },
      decisions: this.#decisionsOf(link),
      createdBy: creator.person.name,
      session: { title, cwd, agent },
      request: { ...request, options: request.options.filter(({ scope }) => scope === 'once') },
    }
  }

  /**
   * Decides the request of the link, with the scope `once`. Rejects like `show`. Calls `record` unless the decision was
   * refused: then the link can be used again. If the outcome is unknown, the link stays used.
   */
  async decide(
    { code, decision, inputHash }: DecisionByLink,
    record: (use: LinkUse) => Promise<void>,
  ): Promise<LinkDecision> {
    const { store, host, now } = this.#parts
    const { link, request, creator } = await this.#valid(code)
    if (!this.#decisionsOf(link).includes(decision))
      throw new ParleyError('forbidden', `This link cannot ${decision} the call. Decide it in the console.`, {
        details: { decisions: this.#decisionsOf(link) },
      })
    if (inputHash !== link.inputHash) throw otherInput(request)
    if (!(await store.useDecisionLink(link.hash, now()))) throw overWith('used')
    const principal = principalOf(link, creator)
    const use = { decision, link, actor: actorOf(principal, 'http') }
    try {
      await hostFor(host, principal, 'http').command(link.session, {
        type: 'permission.decide',
        // A repetition after a lost answer has no second effect.
        commandId: `cmd_${link.id}`,
        requestId: link.request,
        decision,
        scope: 'once',
        inputHash,
      })
    } catch (error) {
      if (isRefusal(error)) await store.releaseDecisionLink(link.hash)
      else await record({ ...use, isCertain: false })
      throw error
    }
    await record({ ...use, isCertain: true })
    return decision
  }

  /** The link of the code, with its creator, session and request. Rejects unless the link can decide now. */
  async #valid(code: string) {
    const { store, host, decideByLink, now } = this.#parts
    const link = await store.decisionLink(hashOf(code))
    if (!link) throw unknownLink()
    if (decideByLink === 'off') throw overWith('off')
    if (link.usedAt !== undefined) throw overWith('used')
    if (link.revokedAt !== undefined) throw overWith('revoked')
    if (link.expiresAt <= now()) throw overWith('expired')
    const creator = await this.#parts.principalOf(link.createdBy.holder)
    if (!creator || !holds(creator, 'decide') || !holds(creator, 'read')) throw overWith('rights')
    const session = await sessionOf(host, link.session)
    if (!session) throw overWith('resolved')
    if (!permitsSession(creator.limits, session)) throw overWith('rights')
    const request = openPermission(session, link.request)
    if (!request) throw overWith('resolved')
    if (request.inputHash !== link.inputHash) throw overWith('changed')
    return { link, creator, session, request }
  }

  /** The decisions that the link can make now: the server may no longer permit links to allow calls. */
  #decisionsOf({ decisions }: DecisionLinkRecord): LinkDecision[] {
    return decisions.filter((one) => one === 'deny' || this.#parts.decideByLink === 'allow')
  }

  #expectPossible(decisions: readonly LinkDecision[]): void {
    const { decideByLink } = this.#parts
    if (decideByLink === 'off')
      throw new ParleyError('not_supported', 'This server accepts no decisions by links (decideByLink: off).')
    if (decideByLink === 'allow' || !decisions.includes('allow')) return
    throw new ParleyError(
      'not_supported',
      'Links of this server can only deny (decideByLink: deny). Create a link that denies, or set decideByLink to allow.',
    )
  }
}

/** The device or the token of a principal that can create links. */
function holderOf({ kind, id }: Principal): DecisionLinkRecord['createdBy']['holder'] {
  if (kind === 'device' || kind === 'token') return { kind, id }
  throw new ParleyError('not_supported', 'Only a browser or a token of this server can create such a link.')
}

/** The principal of a link: the rights of its creator, narrowed to this decision. */
function principalOf({ id, name, session }: DecisionLinkRecord, { person, limits }: Principal): Principal {
  return {
    person,
    kind: 'link',
    id,
    name,
    scopes: new Set(['decide']),
    limits: { ...limits, sessions: [session] },
  }
}

/** The open permission request. Throws a ParleyError that says why a link cannot be created for the request. */
function linkable(session: SessionDetail, requestId: string): OpenPermissionRequest {
  const request = openPermission(session, requestId)
  if (request) return request
  if (session.requests.some((one) => one.requestId === requestId))
    throw new ParleyError('not_supported', 'A link cannot answer a question. Answer it in the console.')
  if (session.settled.some((one) => one.requestId === requestId))
    throw new ParleyError('conflict', 'That request is already resolved.', { details: { requestId } })
  throw new ParleyError(
    'not_found',
    'There is no such request in this session. List the open requests to see their ids.',
    { details: { requestId } },
  )
}

function openPermission(
  { requests }: Pick<SessionDetail, 'requests'>,
  requestId: string,
): OpenPermissionRequest | undefined {
  const request = requests.find((one) => one.requestId === requestId)
  return request?.type === 'permission' ? request : undefined
}

function isOpenIn(session: SessionDetail, { request, inputHash }: DecisionLinkRecord): boolean {
  return openPermission(session, request)?.inputHash === inputHash
}

async function sessionOf(host: Host, sessionId: string): Promise<SessionDetail | undefined> {
  return host.detail(sessionId, 0).catch((error: unknown) => {
    if (hasCode(error, 'not_found')) return undefined
    throw error
  })
}

function isShownTo(principal: Principal, { createdBy: { personId, holder } }: DecisionLinkRecord): boolean {
  return maySee(principal, { id: holder.id, personId })
}

function shown(link: DecisionLinkRecord): DecisionLink {
  const { id: linkId, name, session: sessionId, request: requestId, decisions, createdBy } = link
  const { createdAt, expiresAt } = link
  const { personId } = createdBy
  return { linkId, name, sessionId, requestId, decisions: [...decisions], personId, createdAt, expiresAt }
}

/** True if nothing was recorded. After any other error, the owner of the session may still record the decision. */
function isRefusal(error: unknown): boolean {
  return error instanceof ParleyError && refusals.has(error.code)
}

const refusals: ReadonlySet<ErrorCode> = new Set([
  'conflict',
  'forbidden',
  'not_found',
  'not_supported',
  'unauthorized',
  'validation_error',
])

function hashOf(code: string): string {
  return hash('sha256', code, 'base64url')
}

function unknownLink(): ParleyError {
  return new ParleyError('unauthorized', 'This link is not known here. It may be mistyped or cut off.', {
    details: { reason: 'link' },
  })
}

function otherInput({ requestId, inputHash }: OpenPermissionRequest): ParleyError {
  return new ParleyError(
    'conflict',
    'The request has another input than the one that was shown. Load it again.',
    {
      details: { requestId, inputHash },
    },
  )
}

const problems: Readonly<Record<LinkProblem, string>> = {
  used: 'This link was used. It works once.',
  expired: 'This link has expired. Ask for a new one.',
  revoked: 'This link was revoked.',
  resolved: 'The request no longer waits for a decision: it was answered, withdrawn, or ended with its turn.',
  changed: 'The agent asks for something else now. Ask for a new link.',
  rights: 'Whoever created this link may no longer decide this request.',
  off: 'This server accepts no decisions by links.',
}

function overWith(reason: LinkProblem): ParleyError {
  return new ParleyError('conflict', problems[reason], { details: { reason } })
}
