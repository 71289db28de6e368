import {
  type Actor,
  Command,
  type CommandInput,
  defined,
  type Limits,
  type NewSession,
  ParleyError,
  type SessionSummary,
  scopesOfCommand,
  scopesOfCreation,
  type Via,
} from '@parley/protocol'
import { createFeedLoops, type Host, type SessionChange } from '../core/index.ts'
import {
  actorOf,
  expectScopes,
  type Principal,
  permitsAgent,
  permitsFolder,
  permitsSession,
  type SessionFacts,
} from './principal.ts'

const guarded = new WeakMap<Host, WeakMap<Principal, Map<Via, Host>>>()

/**
 * The host for one principal. Every operation is refused unless the scopes and limits of the principal permit it, and
 * what the operation records names the principal. Whoever holds the returned host needs no further check.
 */
export function hostFor(host: Host, principal: Principal, via: Via): Host {
  const ofHost = guarded.get(host) ?? new WeakMap<Principal, Map<Via, Host>>()
  guarded.set(host, ofHost)
  const ofPrincipal = ofHost.get(principal) ?? new Map<Via, Host>()
  ofHost.set(principal, ofPrincipal)
  const known = ofPrincipal.get(via) ?? guardedHost(host, principal, via)
  ofPrincipal.set(via, known)
  return known
}

/**
 * The host for a request of another node, which has checked the principal. What the operations record names the actor
 * that the node has named.
 */
export function hostActingFor(host: Host, actor: Actor | undefined): Host {
  if (!actor) return host
  return {
    ...host,
    command: (sessionId, command) => host.command(sessionId, command, actor),
    patch: (sessionId, patch) => host.patch(sessionId, patch, actor),
    delete: (sessionId) => host.delete(sessionId, actor),
  }
}

function guardedHost(host: Host, principal: Principal, via: Via): Host {
  const by = actorOf(principal, via)
  const need = (...scopes: Parameters<typeof expectScopes>[1]) => expectScopes(principal, scopes)
  return {
    ...host,
    ...(principal.scopes.has('read')
      ? principal.limits && limitedHost(host, principal, principal.limits)
      : unreadableHost(principal)),
    ...recordingMethods(host, principal, via),
    addRule: async (rule) => {
      need('admin')
      return host.addRule(rule, by)
    },
    removeRule: async (ruleId) => {
      need('admin')
      return host.removeRule(ruleId)
    },
    trust: async (folder, place) => {
      need('admin')
      return host.trust(folder, place, by)
    },
    distrust: async (folder, place) => {
      need('admin')
      return host.distrust(folder, place)
    },
    setEnvironment: async (given) => {
      need('admin')
      return host.setEnvironment(given)
    },
    unsetEnvironment: async (given) => {
      need('admin')
      return host.unsetEnvironment(given)
    },
  }
}

/** The operations that record events in a session. */
function recordingMethods(
  host: Host,
  principal: Principal,
  via: Via,
): Pick<Host, 'create' | 'prepareSession' | 'command' | 'patch' | 'delete' | 'importConversation'> {
  const by = actorOf(principal, via)
  const { limits } = principal
  const reach = async (sessionId: string) => {
    if (limits) await expectSession(host, limits, sessionId)
  }
  return {
    async create(input, own) {
      expectScopes(principal, scopesOfCreation(fieldsOf(input)))
      if (limits) await expectCreation(host, limits, input)
      return host.create(input, { ...own, by })
    },
    async prepareSession(input) {
      expectScopes(principal, scopesOfCreation(fieldsOf(input)))
      if (limits) await expectCreation(host, limits, input)
      return host.prepareSession(input)
    },
    async command(sessionId, command) {
      expectScopes(principal, scopesOfCommand(checkedCommand(command)))
      await reach(sessionId)
      return host.command(sessionId, command, by)
    },
    async patch(sessionId, patch) {
      expectScopes(principal, ['prompt'])
      await reach(sessionId)
      return host.patch(sessionId, patch, by)
    },
    async delete(sessionId) {
      expectScopes(principal, ['admin'])
      return host.delete(sessionId, by)
    },
    async importConversation(given) {
      expectScopes(principal, ['prompt'])
      if (limits) throw outsideLimits('Importing conversations')
      return host.importConversation(given, by)
    },
  }
}

/** A command whose shape is wrong gets its error from the host. Until then, it needs every scope. */
function checkedCommand(command: CommandInput): Command {
  return Command.safeParse(command).data ?? (command as Command)
}

function fieldsOf(input: unknown): Partial<NewSession> {
  return typeof input === 'object' && input !== null ? (input as Partial<NewSession>) : {}
}

/** The operations that read, for a principal without the scope `read`. */
function unreadableHost(principal: Principal): Partial<Host> {
  const refuse = (): never => {
    expectScopes(principal, ['read'])
    throw new ParleyError('internal_error', 'This operation needs the scope "read".')
  }
  const rejected = async () => refuse()
  return {
    list: rejected,
    waiting: rejected,
    state: rejected,
    detail: rejected,
    read: rejected,
    follow: rejected,
    events: refuse,
    feed: refuse,
    onSessionChanged: () => () => {},
  }
}

/** The operations that read. They show only what is within the limits. */
function limitedHost(host: Host, principal: Principal, limits: Limits): Partial<Host> {
  const reach = (sessionId: string) => expectSession(host, limits, sessionId)
  const isVisible = (session: SessionFacts | SessionSummary) => permitsSession(limits, session)
  const ofSession =
    <Args extends unknown[], Result>(method: (sessionId: string, ...args: Args) => Promise<Result>) =>
    async (sessionId: string, ...args: Args): Promise<Result> => {
      await reach(sessionId)
      return method(sessionId, ...args)
    }
  const follow = ofSession(host.follow)
  return {
    list: (query) => listWithin(host, query, isVisible),
    waiting: async () => (await host.waiting()).filter(({ session }) => isVisible(session)),
    agents: async () => (await host.agents()).filter(({ id }) => permitsAgent(limits, id)),
    models: async () => (await host.models()).filter(({ agent }) => permitsAgent(limits, agent)),
    state: ofSession(host.state),
    detail: ofSession(host.detail),
    read: ofSession(host.read),
    follow,
    ...createFeedLoops(follow),
    previewRewind: ofSession(host.previewRewind),
    onSessionChanged: (listener) =>
      host.onSessionChanged((change) => seesChange(principal, change) && listener(change)),
  }
}

/** Whether the principal may learn of a change. A deletion names only the id of the session, which is random. */
export function seesChange({ scopes, limits }: Principal, { summary }: SessionChange): boolean {
  return scopes.has('read') && (summary === undefined || permitsSession(limits, summary))
}

const pagesAtOnce = 20

/** A page of visible sessions. It may be shorter than asked for although there are more: the cursor continues it. */
async function listWithin(
  host: Host,
  query: Parameters<Host['list']>[0],
  isVisible: (session: SessionSummary) => boolean,
): ReturnType<Host['list']> {
  const sessions: SessionSummary[] = []
  let { cursor } = query
  for (let page = 0; page < pagesAtOnce; page++) {
    const found = await host.list({ ...query, ...defined({ cursor }) })
    sessions.push(...found.sessions.filter(isVisible))
    cursor = found.cursor
    if (cursor === undefined || sessions.length >= query.limit) break
  }
  return { sessions, ...defined({ cursor }) }
}

/** Throws ParleyError `not_found` for a session outside the limits, as for one that does not exist. */
async function expectSession(host: Host, limits: Limits, sessionId: string): Promise<void> {
  const { id, cwd, place, agent } = await host.detail(sessionId, 0)
  if (permitsSession(limits, { id, cwd, place, agent })) return
  throw new ParleyError('not_found', `There is no session ${sessionId}. List the sessions to see their ids.`)
}

async function expectCreation(host: Host, limits: Limits, input: unknown): Promise<void> {
  const { agent = '', cwd = '', options } = fieldsOf(input)
  if (limits.sessions) throw outsideLimits('Creating sessions')
  if (!permitsAgent(limits, agent)) throw outsideLimits(`The agent ${agent}`)
  for (const folder of [cwd, ...(options?.directories ?? [])])
    if (!permitsFolder(limits, await host.locateFolder(folder))) throw outsideLimits(`The folder ${folder}`)
}

export function outsideLimits(what: string): ParleyError {
  return new ParleyError('forbidden', `${what} is outside the limits of this token or browser.`, {
    details: { limits: true },
  })
}
