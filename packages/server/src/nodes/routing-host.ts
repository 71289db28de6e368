import { setTimeout as pause } from 'node:timers/promises'
import { createHttp, type Http, isUnreachable } from '@parley/client'
import { type Actor, defined, hasCode, ParleyError } from '@parley/protocol'
import type { Host, SessionChange } from '../core/index.ts'
import { actorHeaders } from '../faces/other-nodes.ts'
import type { PostgresOwnership } from '../stores/postgres/ownership.ts'
import type { NodeMetrics } from './node-metrics.ts'
import { challengeHeader, type PeerCredential, proofHeader } from './peer-credential.ts'
import { LinkLost } from './peer-link.ts'
import type { PeerLinks } from './peer-links.ts'

const retryMs = 100
/** The maximum difference between the clocks of two nodes. */
const clockSkewMs = 60_000
/** The time limit for an owner to suggest a message. It exceeds the owner's own limit. */
const suggestionMs = 5 * 60_000

type RoutingOptions = {
  readonly host: Host
  readonly directory: Pick<PostgresOwnership, 'whereabouts'>
  readonly links: PeerLinks
  readonly credential: PeerCredential
  readonly metrics: Pick<NodeMetrics, 'forwarded'>
  /** The time for which a request is tried again while the owner of its session changes. */
  readonly patienceMs: number
  readonly closing: AbortSignal
}

/** A host whose operations on a session are performed by the node that owns it. Reading needs no owner. */
export function createRoutingHost(options: RoutingOptions): Host {
  const { host, links, credential } = options
  const routed = createRouting(options)
  const http = (url: string, by: Actor | undefined) =>
    createHttp({ url, fetch: provedFetch(credential, url, links, by) })
  const call: CallOwner = (sessionId, here, there, by) =>
    routed(sessionId, here, (url) => there(http(url, by)))

  const command: Host['command'] = (sessionId, command, by) =>
    routed(
      sessionId,
      () => host.command(sessionId, command, by),
      (url) => links.at(url)?.command(sessionId, command, by) ?? Promise.reject(new LinkLost()),
    )

  return {
    ...host,
    command,
    create: (input, own) => host.create(input, { ...own, command }),
    createRound: roundsAtPlaces(options, http),
    patch: (id, patch, by) =>
      call(
        id,
        () => host.patch(id, patch, by),
        (peer) => peer.call('patchSession', { params: { id }, body: patch }),
        by,
      ),
    delete: async (id, by) => {
      let wasTried = false
      const deleted = (error: unknown) => {
        // An earlier attempt, whose answer was lost, has deleted the session.
        if (wasTried && hasCode(error, 'not_found')) return
        wasTried ||= ownerIn(error) === undefined
        throw error
      }
      await call(
        id,
        () => host.delete(id, by).catch(deleted),
        (peer) => peer.call('deleteSession', { params: { id } }).catch(deleted),
        by,
      )
    },
    redact: (id, { seq, reason }, by) =>
      call(
        id,
        () => host.redact(id, { seq, reason }, by),
        (peer) => peer.call('redactEvent', { params: { id, seq }, body: { reason } }),
        by,
      ),
    ...methodsAtOwner(host, call),
    onSessionChanged: changesOfAllNodes(host, links),
  }
}

/** Performs an operation here if this node owns the session or can claim it, else with a request to the owner. */
type CallOwner = <T>(
  sessionId: string,
  here: () => Promise<T>,
  there: (peer: Http) => Promise<T>,
  by?: Actor,
) => Promise<T>

/** The operations of the owner that no actor is recorded for. */
function methodsAtOwner(
  host: Host,
  call: CallOwner,
): Pick<Host, 'seal' | 'previewRewind' | 'suggestMessage'> {
  return {
    seal: (id) =>
      call(
        id,
        () => host.seal(id),
        (peer) => peer.call('sealLog', { params: { id } }).then(() => undefined),
      ),
    previewRewind: (id, promptId) =>
      call(
        id,
        () => host.previewRewind(id, promptId),
        (peer) => peer.call('previewRewind', { params: { id }, query: { promptId } }),
      ),
    suggestMessage: (id, paths, signal) =>
      call(
        id,
        () => host.suggestMessage(id, paths, signal),
        (peer) =>
          peer.call('suggestMessage', {
            params: { id },
            body: { paths: [...paths] },
            timeoutMs: suggestionMs,
            ...defined({ signal }),
          }),
      ),
  }
}

/** Makes a round at the place of its project. */
function roundsAtPlaces(
  options: RoutingOptions,
  http: (url: string, by: Actor | undefined) => Http,
): Host['createRound'] {
  return async (input, own) => {
    const url = await nodeOfProject(options, input.project)
    if (url === undefined) return options.host.createRound(input, own)
    return http(url, own?.by).call('createRound', { body: input })
  }
}

/** A node at the place of a project; undefined if this node is there, or if no node is. */
async function nodeOfProject(
  { host, directory }: Pick<RoutingOptions, 'host' | 'directory'>,
  project: string | undefined,
): Promise<string | undefined> {
  if (project === undefined) return undefined
  const { sessions } = await host.list({ project, limit: 1 })
  const found = sessions[0] && (await directory.whereabouts(sessions[0].id))
  return found && !found.isHere ? found.nodes[0] : undefined
}

function createRouting({ directory, links, metrics, patienceMs, closing }: RoutingOptions) {
  /** Performs an operation here if this node owns the session or can claim it, else at the owner. */
  async function routed<T>(
    sessionId: string,
    here: () => Promise<T>,
    there: (url: string) => Promise<T>,
  ): Promise<T> {
    const start = performance.now()
    const isLate = () => closing.aborted || performance.now() - start > patienceMs
    for (;;) {
      const url = await here().catch(async (error) => {
        const owner = ownerIn(error) ?? (await claimantOf(error, sessionId, directory))
        if (owner === undefined && (!isTemporary(error) || isLate())) throw error
        return new Elsewhere(owner)
      })
      if (!(url instanceof Elsewhere)) return url
      if (url.owner !== undefined) {
        const sent = await forward(url.owner, there)
        if (sent) return sent.result
        if (links.at(url.owner)?.hasOtherToken) throw ownerWithOtherToken(url.owner)
        if (isLate()) {
          metrics.forwarded('busy')
          throw outOfReach(url.owner)
        }
      }
      await pause(retryMs)
    }
  }

  /** Performs an operation at another node. Undefined if another attempt, perhaps at another node, can succeed. */
  async function forward<T>(url: string, there: (url: string) => Promise<T>) {
    try {
      const result = await there(url)
      metrics.forwarded('accepted')
      return { result }
    } catch (error) {
      // The failure is not counted yet: the metric counts a command once, with its final outcome.
      if (isTemporary(error)) return undefined
      metrics.forwarded(error instanceof ParleyError ? error.code : 'busy')
      throw error
    }
  }

  return routed
}

/** The host for requests of other nodes. It performs them only here, and announces only the changes of this node. */
export function createPeerHost(host: Host): Host {
  return { ...host, follow: host.followOwned }
}

/** Announces the session changes of all nodes. If changes were missed, announces the sessions that have changed since. */
function changesOfAllNodes(host: Host, links: PeerLinks): Host['onSessionChanged'] {
  const listeners = new Set<(change: SessionChange) => void>()
  const changed = (change: SessionChange) => {
    for (const listener of listeners) listener(change)
  }
  const missed = async (since: number) => {
    let cursor: string | undefined
    do {
      if (listeners.size === 0) return
      const page = await host.list({ limit: 50, ...defined({ cursor }) })
      const recent = page.sessions.filter(({ updatedAt }) => updatedAt > since - clockSkewMs)
      for (const summary of recent) changed({ session: summary.id, change: 'changed', summary })
      const last = page.sessions.at(-1)
      // Pinned sessions come first in the list, whatever their time of change.
      cursor = last?.pinned || last === recent.at(-1) ? page.cursor : undefined
    } while (cursor !== undefined)
  }
  host.onSessionChanged(changed)
  links.listen({ changed, missed: (since) => void missed(since).catch(() => undefined) })
  return (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
}

/**
 * Means that an operation must be performed at the owner of the session, or repeated because there is no owner now.
 */
class Elsewhere {
  readonly owner: string | undefined

  constructor(owner: string | undefined) {
    this.owner = owner
  }
}

/** The address of a node at the session's place, if the error says that the session waits for such a node. */
async function claimantOf(error: unknown, sessionId: string, directory: RoutingOptions['directory']) {
  const isAwaited = hasCode(error, 'busy') && error.details?.awaited !== undefined
  return isAwaited ? (await directory.whereabouts(sessionId))?.nodes[0] : undefined
}

/** The owner's address in core's error for a session that another node owns. */
function ownerIn(error: unknown): string | undefined {
  const owner = hasCode(error, 'conflict') && (error.details?.owner as { url?: unknown } | undefined)
  return owner && typeof owner.url === 'string' ? owner.url : undefined
}

/**
 * True if another attempt can succeed: the owner is gone, has changed or is about to stop, or a node has no
 * connection to PostgreSQL. Repeating a command that was performed after all has no effect.
 */
function isTemporary(error: unknown): boolean {
  if (error instanceof LinkLost || isUnreachable(error)) return true
  if (hasCode(error, 'conflict'))
    return error.details?.owner !== undefined || error.details?.staleTerm !== undefined
  if (!hasCode(error, 'busy')) return false
  const { stopping, isJoining, postgres } = error.details ?? {}
  return stopping === true || isJoining === true || postgres !== undefined
}

function outOfReach(url: string): ParleyError {
  const message = `The node at ${url}, which owns this session, cannot be reached from this node. It may still receive the request: look at the session before you try again.`
  return new ParleyError('busy', message, { details: { node: url } })
}

function ownerWithOtherToken(url: string): ParleyError {
  const message = `The node at ${url}, which owns this session, has a different token from this node, or its clock differs by more than five minutes. Give all nodes the same PARLEY_TOKEN.`
  return new ParleyError('busy', message, { details: { node: url, problem: 'other-token' } })
}

/**
 * Sends requests as a node, and refuses an answer without a proof that a node sent it. A request ends when the link to
 * the node is lost: a paused node would not answer.
 */
function provedFetch(
  credential: PeerCredential,
  url: string,
  links: PeerLinks,
  by: Actor | undefined,
): typeof fetch {
  return async (input, init) => {
    const whileOpen = links.at(url)?.whileOpen
    if (!whileOpen) throw new LinkLost()
    const own = credential.headersFor(url)
    const headers = new Headers(init?.headers)
    for (const [name, value] of Object.entries({ ...own, ...actorHeaders(by) })) headers.set(name, value)
    const signal = init?.signal ? AbortSignal.any([init.signal, whileOpen]) : whileOpen
    const answer = await fetch(input, { ...init, headers, signal, redirect: 'error' })
    if (credential.isProof(answer.headers.get(proofHeader), url, own[challengeHeader])) return answer
    await answer.body?.cancel()
    throw new TypeError(`The program at ${url} is not a node with the same token.`)
  }
}
