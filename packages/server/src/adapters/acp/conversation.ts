import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type ClientContext, PROTOCOL_VERSION, RequestError } from '@agentclientprotocol/sdk/unstable'
import type { ConnectInput } from '@parley/adapter-kit'
import { ParleyError } from '@parley/protocol'
import type { KnownAgent } from './agent.ts'
import { hasCredential } from './agent.ts'
import { deleteEmptyFiles, moveToEarlierMinute } from './gemini-session-files.ts'
import type { NativeInitialized } from './native.ts'
import { applyMode, applyModel, clientCapabilities, sessionParams } from './settings.ts'
import type { TranslateState } from './translate-state.ts'

export type StartContext = {
  readonly wire: ClientContext
  readonly agent: KnownAgent
  readonly input: ConnectInput
  readonly env: Readonly<Record<string, string>>
  state(): TranslateState
  /** True if anything was replayed since this function was last called. */
  replayed(): boolean
  /** Resolves when the agent has reported whether it is signed in, or after a time limit. */
  signInReported(): Promise<void>
}

const authRequired = -32_000
const methodNotFound = -32_601
/**
 * The method of a request that only waits. No agent has this method, and responses come in order, so the error response
 * shows that all earlier messages have arrived.
 */
const ping = '_parley/ping'

/** Starts a session that accepts prompts, in a new process. Rejects if the agent refuses. */
export async function startSession(context: StartContext): Promise<NativeInitialized> {
  const { wire, agent, input } = context
  const about = await initialize(wire, agent)
  await signedIn(context, about, () => openSession(context, about))
  if (!hasCredential(agent, context.env)) {
    // Some agents create sessions without a sign-in and report the sign-in state by themselves.
    if (about.agentCapabilities?._meta?.authStatus !== undefined) await context.signInReported()
    if (context.state().signedIn === false) throw notSignedIn(agent)
  }
  try {
    await applyMode(wire, context.state(), input.settings.mode)
    await applyModel(wire, context.state, input.settings)
  } catch (error) {
    throw error instanceof RequestError ? refusedSetting(agent, error) : error
  }
  return about
}

export async function initialize(wire: ClientContext, agent: KnownAgent): Promise<NativeInitialized> {
  const about: NativeInitialized = await wire.request('initialize', {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: clientCapabilities(agent),
    clientInfo: { name: 'parley', title: 'Parley', version: '1' },
  })
  if (about.protocolVersion === PROTOCOL_VERSION) return about
  const spoken = `${agent.name} uses version ${about.protocolVersion} of the Agent Client Protocol`
  const message = `${spoken}, but Parley uses ${PROTOCOL_VERSION}. Install another version of the agent.`
  throw new ParleyError('agent_failed', message)
}

/**
 * Opens the session. If the agent requires a sign-in and the environment has a method for it, signs in and opens the
 * session again.
 */
export async function signedIn(
  { wire, agent, env }: Pick<StartContext, 'wire' | 'agent' | 'env'>,
  about: NativeInitialized,
  open: () => Promise<void>,
): Promise<void> {
  try {
    await open()
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== authRequired) throw error
    const method = methodFor(agent, about, env)
    if (method === undefined) throw notSignedIn(agent, error)
    await wire.request('authenticate', { methodId: method }).catch((refusal: unknown) => {
      throw notSignedIn(agent, refusal)
    })
    await open()
  }
}

function methodFor(
  { signIn }: KnownAgent,
  { authMethods }: NativeInitialized,
  env: StartContext['env'],
): string | undefined {
  const { chosen, methods = {} } = signIn ?? {}
  if (chosen && holds(join(env.HOME ?? homedir(), chosen.file), chosen.holds)) return undefined
  const [, method] = Object.entries(methods).find(([variable]) => env[variable]) ?? []
  return authMethods?.some(({ id }) => id === method) ? method : undefined
}

function holds(file: string, words: string): boolean {
  try {
    return readFileSync(file, 'utf8').includes(words)
  } catch {
    return false
  }
}

async function openSession(context: StartContext, about: NativeInitialized): Promise<void> {
  const { wire, agent, input } = context
  const params = sessionParams(agent, input, about)
  const { resume } = input
  if (!resume) return void (await wire.request('session/new', params))
  const { loadSession, sessionCapabilities } = about.agentCapabilities ?? {}
  const known = { ...params, sessionId: resume.agentSessionId }
  const canResume = sessionCapabilities?.resume != null
  if (resume.fork) {
    if (sessionCapabilities?.fork == null) throw cannot(agent, 'copy a conversation')
    return void (await wire.request('session/fork', known))
  }
  if (!loadSession && !canResume) throw cannot(agent, 'resume a conversation')
  const byResume = canResume && (!loadSession || agent.dialect.resumeBy === 'resume')
  try {
    if (byResume) await wire.request('session/resume', known)
    else await load(context, known)
  } catch (error) {
    if (!(error instanceof RequestError) || error.code === authRequired) throw error
    if (resume.turns > 0 || (await stillThere(context, about, resume.agentSessionId)))
      throw lost(agent, error)
    await wire.request('session/new', params)
  }
}

/** Resolves when the agent has replayed the whole conversation. */
export async function load(
  { wire, agent, env, replayed }: Pick<StartContext, 'wire' | 'agent' | 'env' | 'replayed'>,
  params: ReturnType<typeof sessionParams> & { sessionId: string },
): Promise<void> {
  const { minuteInSessionFile: file, replayAfterLoad } = agent.dialect
  const kept = file && {
    folder: file.folder,
    home: env[file.home] ?? env.HOME,
    sessionId: params.sessionId,
  }
  if (kept) {
    deleteEmptyFiles(kept)
    moveToEarlierMinute({ ...kept, now: new Date() })
  }
  await wire.request('session/load', params)
  if (kept) deleteEmptyFiles(kept)
  if (!replayAfterLoad) return
  // While the replay continues, a message arrives before the response to each of these requests.
  do {
    replayed()
    await wire.request(ping, {}).catch((error: unknown) => {
      if (!(error instanceof RequestError) || error.code !== methodNotFound) throw error
    })
  } while (replayed())
}

/** True if the agent lists the conversation; false if the agent cannot list conversations. */
async function stillThere(
  { wire, input }: StartContext,
  about: NativeInitialized,
  sessionId: string,
): Promise<boolean> {
  if (about.agentCapabilities?.sessionCapabilities?.list == null) return false
  for await (const session of sessionPages(wire, { cwd: input.cwd }))
    if (session.sessionId === sessionId) return true
  return false
}

export function notSignedIn({ name, signIn }: KnownAgent, cause?: unknown): ParleyError {
  const why = cause instanceof Error ? ` It says: ${cause.message}` : ''
  const hint = signIn?.hint ?? 'Sign in with the program itself.'
  return new ParleyError('agent_not_signed_in', `${name} is not signed in. ${hint}${why}`, { cause })
}

export function cannot({ name }: KnownAgent, what: string): ParleyError {
  return new ParleyError('not_supported', `${name} cannot ${what}.`)
}

function lost({ name }: KnownAgent, { message, data }: RequestError): ParleyError {
  const details = (data as { details?: string } | undefined)?.details ?? message
  return new ParleyError(
    'agent_failed',
    `${name} could not resume this conversation: ${details} Start a new session.`,
  )
}

function refusedSetting({ name }: KnownAgent, { message, data }: RequestError): ParleyError {
  const details = (data as { details?: string } | undefined)?.details ?? message
  return new ParleyError('validation_error', `${name} rejected a setting of this session: ${details}`)
}

export type ListedSession = {
  readonly sessionId: string
  readonly cwd: string
  readonly title?: string | null
  readonly updatedAt?: string | null
}

/** The maximum number of pages of a listing, which ends an endless listing. No agent has so many pages. */
const maxPages = 200

/** All conversations that the agent lists, or those of one folder. */
export async function* sessionPages(
  wire: ClientContext,
  query: { readonly cwd?: string },
): AsyncGenerator<ListedSession> {
  let cursor: string | null | undefined
  for (let page = 0; page < maxPages; page++) {
    const { sessions, nextCursor } = await wire.request('session/list', {
      ...query,
      ...(cursor && { cursor }),
    })
    yield* sessions
    if (!nextCursor) return
    cursor = nextCursor
  }
}
