import {
  type Actor,
  Command,
  type CommandInput,
  defined,
  type Limits,
  type NewSession,
  ParleyError,
  type Scope,
  type SessionSummary,
  scopesOfCommand,
  scopesOfCreation,
  scopesOfProjectPatch,
  type Via,
} from '@parley/protocol'
import { createFeedLoops, type Host, type SearchQuery, type SessionChange } from '../core/index.ts'
import { expectSigned } from './answer-signature.ts'
import { creatingRounds, expectAllAttempts, readingRounds } from './guarded-rounds.ts'
import {
  actorOf,
  expectNoLimits,
  expectScopes,
  outsideLimits,
  type Principal,
  permitsAgent,
  permitsFolder,
  permitsSession,
} from './principal.ts'

const guarded = new WeakMap<Host, WeakMap<Principal, Map<Via, Host>>>()

/**
 * The host for one principal. Every operation is refused unless the scopes and limits of the principal permit it. The
 * events that it records name the principal as their actor. A caller of the returned host needs no further check.
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
 * The host for a request of another node, which has checked the principal. Recorded events name the actor that the
 * other node has sent.
 */
export function hostActingFor(host: Host, actor: Actor | undefined): Host {
  if (!actor) return host
  return {
    ...host,
    command: (sessionId, command) => host.command(sessionId, command, actor),
    patch: (sessionId, patch) => host.patch(sessionId, patch, actor),
    delete: (sessionId) => host.delete(sessionId, actor),
    redact: (sessionId, redaction) => host.redact(sessionId, redaction, actor),
    createRound: (input) => host.createRound(input, { by: actor }),
  }
}

type Guard = {
  readonly host: Host
  readonly principal: Principal
  readonly by: Actor
  /** Wraps a method so that it requires these scopes. */
  needing<Args extends unknown[], Result>(
    scopes: readonly Scope[],
    method: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result>
  /** Wraps a method of one session so that it requires these scopes, and a session within the limits. */
  ofSession<Args extends unknown[], Result>(
    scopes: readonly Scope[],
    method: (sessionId: string, ...args: Args) => Promise<Result>,
  ): (sessionId: string, ...args: Args) => Promise<Result>
}

/** Every method is listed, without `...host`, so that a new method of the host is refused until it is listed here. */
function guardedHost(host: Host, principal: Principal, via: Via): Host {
  const guard: Guard = {
    host,
    principal,
    by: actorOf(principal, via),
    needing:
      (scopes, method) =>
      async (...args) => {
        expectScopes(principal, scopes)
        return method(...args)
      },
    ofSession:
      (scopes, method) =>
      async (sessionId, ...args) => {
        expectScopes(principal, scopes)
        await expectReach(host, principal, sessionId)
        return method(sessionId, ...args)
      },
  }
  return {
    ...readingMethods(guard),
    ...sessionMethods(guard),
    ...settingMethods(guard),
    ...agentMethods(guard),
    adopt: onlyForOwner,
    deleteIf: onlyForOwner,
    close: onlyForOwner,
  }
}

async function onlyForOwner(): Promise<never> {
  throw new ParleyError('forbidden', 'Only the program that created the host may do this.')
}

/** The operations that read sessions. They show only what is within the limits. */
function readingMethods({ host, principal, needing, ofSession }: Guard) {
  const { limits } = principal
  const isVisible = (session: SessionSummary) => permitsSession(limits, session)
  const follow = ofSession(['read'], host.follow)
  return {
    // The limits are part of the query, because a cursor that skips other sessions would reveal that they exist.
    list: needing(['read'], async (query: Parameters<Host['list']>[0]) => {
      const { sessions, ...page } = await host.list({ ...query, ...defined({ within: limits }) })
      return { ...page, sessions: sessions.filter(isVisible) }
    }),
    search: needing(['read'], async (query: SearchQuery) => {
      const { hits, pending, ...page } = await host.search({ ...query, ...defined({ within: limits }) })
      const visible = { ...page, hits: hits.filter(({ session }) => isVisible(session)) }
      return limits ? visible : { ...visible, ...defined({ pending }) }
    }),
    waiting: needing(['read'], async () =>
      (await host.waiting()).filter(({ session }) => isVisible(session)),
    ),
    projects: needing(['read'], async () =>
      host.projects(
        limits && {
          sessions: limits.sessions,
          permits: ({ folder, place, agent }) =>
            permitsFolder(limits, { folder, place }) && permitsAgent(limits, agent),
        },
      ),
    ),
    ...readingRounds(host, principal),
    state: ofSession(['read'], host.state),
    detail: ofSession(['read'], host.detail),
    read: ofSession(['read'], host.read),
    seal: ofSession(['read'], host.seal),
    changeScope: ofSession(['read'], host.changeScope),
    branch: ofSession(['read'], host.branch),
    // Reading a pull request needs the scope `prompt` too, because the request uses the credentials of the person who
    // runs the server.
    pullRequest: ofSession(['read', 'prompt'], host.pullRequest),
    checkLogs: ofSession(['read', 'prompt'], host.checkLogs),
    follow,
    followOwned: ofSession(['read'], host.followOwned),
    ...createFeedLoops(follow),
    onSessionChanged: (listener: (change: SessionChange) => void) =>
      host.onSessionChanged((change) => seesChange(principal, change) && listener(change)),
  }
}

/** The operations that record events in a session, or make its agent work. */
function sessionMethods({ host, principal, by, needing, ofSession }: Guard) {
  const { limits } = principal
  const prompting = <Input, Result>(perform: (input: Input) => Promise<Result>) => {
    return async (input: Input) => {
      expectScopes(principal, scopesOfCreation(fieldsOf(input)))
      const given = await withSource(host, principal, input)
      return perform(limits ? { ...given, ...(await permittedCreation(host, limits, given)) } : given)
    }
  }
  const create = (own: Parameters<Host['create']>[1]) =>
    prompting((input: Parameters<Host['create']>[0]) =>
      host.create(input, { ...own, by, mayInheritWideMode: principal.scopes.has('decide') }),
    )
  return {
    create: (input: Parameters<Host['create']>[0], own?: Parameters<Host['create']>[1]) => create(own)(input),
    createRound: creatingRounds(host, principal, by),
    expectCreatable: prompting(host.expectCreatable),
    prepareSession: prompting(host.prepareSession),
    async command(sessionId: string, command: CommandInput) {
      const checked = checkedCommand(command)
      await expectCommand(host, principal, sessionId, checked)
      expectSigned(principal, sessionId, checked)
      return host.command(sessionId, command, by)
    },
    patch: ofSession(['prompt'], (sessionId, patch: Parameters<Host['patch']>[1]) =>
      host.patch(sessionId, patch, by),
    ),
    delete: ofSession(['admin'], (sessionId) => host.delete(sessionId, by)),
    redact: ofSession(['admin'], (sessionId, redaction: Parameters<Host['redact']>[1]) =>
      host.redact(sessionId, redaction, by),
    ),
    // A preview needs the scope `decide`, because it runs the merge drivers of the repository if the folder is
    // trusted.
    previewMerge: ofSession(['read', 'decide'], async (sessionId) => {
      const preview = await host.previewMerge(sessionId)
      await permittedFolders(host, limits, foldersOfMerge(preview.into))
      return preview
    }),
    // The agent of the session works, at the expense of the person who runs the server.
    suggestMessage: ofSession(['prompt', 'decide'], host.suggestMessage),
    previewRewind: ofSession(['decide'], host.previewRewind),
    previewHandOff: ofSession(
      ['read', 'prompt'],
      async (sessionId, query: Parameters<Host['previewHandOff']>[1]) => {
        if (!permitsAgent(limits, query.agent)) throw outsideLimits(`The agent ${query.agent}`)
        return host.previewHandOff(sessionId, query)
      },
    ),
    offerWorktree: needing(['read', 'prompt'], unlimited(principal, host.offerWorktree)),
    worktrees: needing(['read'], unlimited(principal, host.worktrees)),
    worktree: ofSession(['read'], host.worktree),
    removeOrphan: needing(['admin'], host.removeOrphan),
    offerTools: ofSession(['prompt'], host.offerTools),
    releaseTools: host.releaseTools,
    conversations: needing(['prompt'], unlimited(principal, host.conversations)),
    importConversation: needing(
      ['prompt'],
      unlimited(principal, (given: Parameters<Host['importConversation']>[0]) =>
        host.importConversation(given, by),
      ),
    ),
  }
}

/** The operations on settings that apply to several sessions. */
function settingMethods({ host, principal, by, needing }: Guard) {
  const { limits } = principal
  return {
    rules: needing(['read'], unlimited(principal, host.rules)),
    addRule: needing(['admin', 'decide'], (rule: Parameters<Host['addRule']>[0]) => host.addRule(rule, by)),
    removeRule: needing(['admin'], async (ruleId: string) => {
      const rule = (await host.rules()).find((one) => one.ruleId === ruleId)
      // The removal of a rule that refuses or asks lets more calls run.
      if (rule && rule.decision !== 'allow') expectScopes(principal, ['decide'])
      return host.removeRule(ruleId)
    }),
    trusted: needing(['read'], unlimited(principal, host.trusted)),
    trust: needing(['admin', 'decide'], (folder: string, place?: string) => host.trust(folder, place, by)),
    distrust: needing(['admin'], host.distrust),
    environments: needing(['read'], unlimited(principal, host.environments)),
    setEnvironment: needing(['admin', 'decide'], host.setEnvironment),
    unsetEnvironment: needing(['admin'], host.unsetEnvironment),
    patchProject: needing(
      ['prompt'],
      unlimited(principal, async (id: string, patch: Parameters<Host['patchProject']>[1]) => {
        expectScopes(principal, scopesOfProjectPatch(patch))
        return host.patchProject(id, patch, by)
      }),
    ),
    recordInLedger: needing(['admin'], host.recordInLedger),
    ledgerEntries: needing(['admin'], host.ledgerEntries),
    lastLedgerEntry: needing(['admin'], host.lastLedgerEntry),
    sealKeys: needing(['read'], host.sealKeys),
    async locateFolder(folder: string, place?: string) {
      if (!limits) return host.locateFolder(folder, place)
      const at = await host.locateFolder(folder, place).catch(() => undefined)
      if (at && permitsFolder(limits, at)) return at
      // The error is the same whether or not the folder exists.
      throw outsideLimits(`The folder ${folder}`)
    },
  }
}

function agentMethods({ host, principal: { limits, scopes }, needing }: Guard) {
  return {
    // A failure names files of this machine, and quotes what the module has thrown.
    adapterFailures: needing(['read'], async () => (scopes.has('admin') ? await host.adapterFailures() : [])),
    agents: needing(['read'], async () => {
      const agents = await host.agents()
      if (!limits) return agents
      // The kinds of messages come from all sessions of an agent.
      return agents.filter(({ id }) => permitsAgent(limits, id)).map(({ unrecognised: _, ...agent }) => agent)
    }),
    models: needing(['read'], async () =>
      (await host.models()).filter(({ agent }) => permitsAgent(limits, agent)),
    ),
    installAgent: needing(['admin'], host.installAgent),
    removeAgent: needing(['admin'], host.removeAgent),
    addAgent: needing(['admin'], host.addAgent),
    forgetAgent: needing(['admin'], host.forgetAgent),
    setAgentKey: needing(['admin'], host.setAgentKey),
    removeAgentKey: needing(['admin'], host.removeAgentKey),
    testAgent: needing(['admin'], host.testAgent),
  }
}

function unlimited<Args extends unknown[], Result>(
  principal: Principal,
  method: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    expectNoLimits(principal)
    return method(...args)
  }
}

/** True if a change is announced to the principal. The folder and the agent of a deleted session are not checked. */
export function seesChange({ scopes, limits }: Principal, { session, summary }: SessionChange): boolean {
  if (!scopes.has('read')) return false
  return summary ? permitsSession(limits, summary) : limits?.sessions?.includes(session) !== false
}

/**
 * Throws ParleyError `not_found` for a session outside the limits of the principal, as for a session that does not
 * exist.
 */
export async function expectReach(host: Host, { limits }: Principal, sessionId: string): Promise<void> {
  if (!limits) return
  const { id, cwd, place, agent } = await host.detail(sessionId, 0)
  if (permitsSession(limits, { id, cwd, place, agent })) return
  throw new ParleyError('not_found', `There is no session ${sessionId}. List the sessions to see their ids.`)
}

async function expectCommand(
  host: Host,
  principal: Principal,
  sessionId: string,
  command: Command,
): Promise<void> {
  const { limits, scopes } = principal
  expectScopes(principal, scopesOfCommand(command))
  await expectReach(host, principal, sessionId)
  if (!scopes.has('decide') && dependsOnMode.has(command.type)) {
    const { requested } = await host.state(sessionId)
    expectScopes(principal, scopesOfCommand(command, requested.mode))
  }
  if (command.type === 'session.fork' && limits?.sessions) throw outsideLimits('Forking sessions')
  if (command.type === 'session.fork' && command.worktree && limits?.folders) throw worktreeOutside()
  if (command.type === 'branch.merge') await permittedFolders(host, limits, foldersOfMerge(command))
  if (command.type === 'attempt.pick') await expectAllAttempts(host, limits, sessionId)
  if (command.type === 'session.configure') await permittedFolders(host, limits, command.options?.directories)
}

/** The folder whose files a merge changes. */
const foldersOfMerge = (merge: { readonly folder?: string | undefined } | undefined) =>
  merge?.folder === undefined ? [] : [merge.folder]

const dependsOnMode: ReadonlySet<Command['type']> = new Set(['session.configure', 'session.fork'])

/** The parsed command. A command of a wrong shape is returned unchanged; the host then refuses it. */
function checkedCommand(command: CommandInput): Command {
  return Command.safeParse(command).data ?? (command as Command)
}

function fieldsOf(input: unknown): Partial<NewSession> {
  return typeof input === 'object' && input !== null ? (input as Partial<NewSession>) : {}
}

/**
 * Adds the folder of the session that the new session continues. The principal must be permitted to read that
 * session.
 */
async function withSource<Input>(host: Host, principal: Principal, input: Input): Promise<Input> {
  const { from, cwd } = fieldsOf(input)
  if (typeof from?.sessionId !== 'string') return input
  expectScopes(principal, ['read'])
  await expectReach(host, principal, from.sessionId)
  if (!principal.limits || cwd !== undefined) return input
  return { ...input, cwd: (await host.state(from.sessionId)).cwd }
}

/** The folders of a new session as real paths. Throws ParleyError `forbidden` unless the limits permit the session. */
async function permittedCreation(host: Host, limits: Limits, input: unknown): Promise<object> {
  const { agent = '', cwd = '', options, worktree } = fieldsOf(input)
  if (worktree && limits.folders) throw worktreeOutside()
  if (limits.sessions) throw outsideLimits('Creating sessions')
  if (!permitsAgent(limits, agent)) throw outsideLimits(`The agent ${agent}`)
  const [folder] = await permittedFolders(host, limits, [cwd])
  const directories = options?.directories && (await permittedFolders(host, limits, options.directories))
  return { cwd: folder, ...(directories && { options: { ...options, directories } }) }
}

/** The real paths of the folders. Throws ParleyError `forbidden` for the first one outside the limits. */
async function permittedFolders(
  host: Host,
  limits: Limits | undefined,
  folders: readonly string[] = [],
): Promise<readonly string[]> {
  if (!limits) return folders
  return Promise.all(
    folders.map(async (folder) => {
      const at = await host.locateFolder(folder).catch(() => undefined)
      if (!at || !permitsFolder(limits, at)) throw outsideLimits(`The folder ${folder}`)
      return at.folder
    }),
  )
}

const worktreeOutside = () => outsideLimits('A worktree, which is in the data folder,')
