import type { AgentOutput, ConnectInput, Resumption } from '@parley/adapter-kit'
import { JsonRpcError } from '@parley/adapter-kit/json-rpc'
import { type AgentCommand, type Billing, messageOf, ParleyError } from '@parley/protocol'
import type { AppServer } from './app-server.ts'
import { pages } from './memory.ts'
import type { NativeItem, NativeThreadOpened } from './native.ts'
import type { Skill } from './prompt.ts'
import { approvalPolicy, type NativeConfig, nativeConfig, threadParams } from './settings.ts'
import { promptIdIn, type StoredTurn } from './translate-memory.ts'

/** Opens the conversation: a new one, an existing one, or a fork. Rejects with a ParleyError. */
export async function openThread(
  server: AppServer,
  input: ConnectInput,
  hostTools?: NativeConfig,
): Promise<NativeThreadOpened> {
  await expectSignedIn(server)
  const open = async () => {
    const hooks = await server.hooks()
    if (!hooks) throw hookNotRun()
    const opened = await openWith(server, input, nativeConfig(input, { hooks, hostTools }))
    await expectAsking(server, opened)
    return opened
  }
  return open().catch((error: unknown) => {
    throw cannotOpen(error)
  })
}

/**
 * Rejects a conversation in which Codex does not ask before each call, because the host could not refuse the other
 * calls.
 */
async function expectAsking(server: AppServer, { thread, ...opened }: NativeThreadOpened): Promise<void> {
  try {
    if (opened.approvalPolicy !== approvalPolicy) {
      const message =
        'The settings of your organisation do not allow Codex to ask before each call, which Parley requires.'
      throw new ParleyError('agent_failed', message)
    }
    if (!(await server.runsHook(thread.id))) throw hookNotRun()
  } catch (error) {
    await server.unload(thread.id)
    throw error
  }
}

function hookNotRun(): ParleyError {
  const message =
    'Codex does not run the hook that Parley uses to deny calls, because hooks are switched off or not allowed, so no session was started. Remove "hooks = false" under [features] in the config.toml of Codex, or ask the administrator who manages its settings.'
  return new ParleyError('agent_failed', message)
}

async function expectSignedIn(server: AppServer): Promise<void> {
  const account = await readAccount(server).catch((error: unknown) => {
    throw cannotOpen(error)
  })
  if (!account.signedIn) throw new ParleyError('agent_not_signed_in', 'Codex is not signed in.')
}

/** The kind of billing for each type of account. */
const billings: Readonly<Record<string, Billing>> = {
  chatgpt: 'subscription',
  apiKey: 'api-key',
  amazonBedrock: 'cloud',
  gcp: 'cloud',
}

/** Reads the sign-in state and the account. `signedIn` is also true if the model's provider needs no account. */
export async function readAccount(
  server: AppServer,
): Promise<{ signedIn: boolean; credential: string | undefined; billing: Billing | undefined }> {
  type Account = { account: { type: string; planType?: string } | null; requiresOpenaiAuth: boolean }
  const { account, requiresOpenaiAuth } = await server.call<Account>('account/read')
  const credential = account && [account.type, account.planType].filter(Boolean).join(', ')
  return {
    signedIn: account !== null || !requiresOpenaiAuth,
    credential: credential ?? undefined,
    billing: account ? billings[account.type] : undefined,
  }
}

async function openWith(
  server: AppServer,
  input: ConnectInput,
  config: NativeConfig,
): Promise<NativeThreadOpened> {
  const { resume } = input
  const params = { ...threadParams(input, config), ...(resume?.temporary && { ephemeral: true }) }
  if (!resume) return server.call('thread/start', params)
  const threadId = resume.agentSessionId
  await server.expect(threadId)
  input.signal.throwIfAborted()
  const method = resume.fork ? 'thread/fork' : 'thread/resume'
  try {
    const cut = resume.before && (await cutBefore(server, resume, input.signal))
    if (cut?.isEmpty) return await server.call('thread/start', params)
    const place = cut && { beforeTurnId: cut.turnId }
    return await server.call(method, { ...params, ...place, threadId, excludeTurns: true })
  } catch (error) {
    // If the process was killed before it wrote the first line of a thread, the thread cannot be resumed: a new one is
    // started.
    if (resume.turns === 0 && error instanceof JsonRpcError) return server.call('thread/start', params)
    throw error
  }
}

/** The first turn that contains one of these prompts. `isEmpty` means that no turn precedes it. */
async function cutBefore(
  server: AppServer,
  { agentSessionId: threadId, before = [] }: Resumption,
  signal: AbortSignal,
): Promise<{ turnId: string; isEmpty: boolean }> {
  const query = { threadId, limit: 10, sortDirection: 'asc', itemsView: 'full' }
  let isFirst = true
  for await (const turn of pages<StoredTurn>(server, ['thread/turns/list', query], signal)) {
    const ids = turn.items.map((item, index) => (item.type === 'userMessage' ? promptIdIn(turn, index) : ''))
    if (ids.some((id) => before.includes(id))) return { turnId: turn.id, isEmpty: isFirst }
    isFirst = false
  }
  const message =
    'The conversation of Codex does not contain the prompt before which this session was forked, so it cannot be forked there. Fork the original session before another prompt.'
  throw new ParleyError('agent_failed', message, { details: { agentSessionId: threadId } })
}

function cannotOpen(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error
  const why = messageOf(error)
  const advice = /active writer/.test(why)
    ? '. Close it in the other program, then send the prompt again'
    : ''
  return new ParleyError('agent_failed', `Codex could not open the conversation: ${why}${advice}`, {
    cause: error,
  })
}

/** True if the conversation contains this prompt. It may be missing if the program was killed. */
export async function remembers(server: AppServer, threadId: string, promptId: string): Promise<boolean> {
  const params = { threadId, limit: 3, itemsView: 'full' }
  const { data } = await server.call<{ data: { items: NativeItem[] }[] }>('thread/turns/list', params)
  return data.some(({ items }) =>
    items.some((item) => item.type === 'userMessage' && item.clientId === promptId),
  )
}

/** The enabled skills, which a person can call by name. */
async function readSkills(server: AppServer, cwd: string): Promise<(Skill & AgentCommand)[]> {
  type Listed = {
    data: { skills: { name: string; path: string; description: string; enabled: boolean }[] }[]
  }
  const { data } = await server.call<Listed>('skills/list', { cwds: [cwd] })
  return data
    .flatMap(({ skills }) => skills)
    .filter(({ enabled }) => enabled)
    .map(({ name, path, description }) => ({ name, path, description }))
}

/** The running turn of a conversation or of a subagent. */
export type RunningTurn = { readonly threadId: string; readonly turnId: string | undefined }

/** Stops the given turns and commands. When Codex stops a turn, it does not stop the commands of the turn. */
export async function interruptTurns(
  server: AppServer,
  turns: readonly RunningTurn[],
  commands: ReadonlySet<string>,
): Promise<void> {
  for (const { threadId, turnId } of turns) {
    if (turnId !== undefined) await server.call('turn/interrupt', { threadId, turnId })
    await terminateCommands(server, threadId, commands)
  }
}

/** Stops turns and unloads their threads. The program continues to serve other conversations. */
export async function leaveThreads(server: AppServer, turns: readonly RunningTurn[]): Promise<void> {
  for (const { threadId, turnId } of turns) {
    if (turnId !== undefined) await server.call('turn/interrupt', { threadId, turnId }).catch(() => undefined)
    await server.unload(threadId)
  }
}

async function terminateCommands(
  server: AppServer,
  threadId: string,
  itemIds: ReadonlySet<string>,
): Promise<void> {
  if (itemIds.size === 0) return
  type Listed = { data: { itemId: string; processId: string }[] }
  const { data } = await server.call<Listed>('thread/backgroundTerminals/list', { threadId })
  for (const { itemId, processId } of data) {
    if (itemIds.has(itemId))
      await server.call('thread/backgroundTerminals/terminate', { threadId, processId })
  }
}

const compact = { name: 'compact', description: 'Shortens the conversation' }

/**
 * Reports the connection. Known data is reported at once, the rest when Codex has sent it. Returns the skills, for
 * use in prompts.
 */
export async function introduce(
  server: AppServer,
  { cwd, trusted }: ConnectInput,
  { thread, model }: NativeThreadOpened,
  put: (output: AgentOutput) => Promise<void>,
): Promise<readonly Skill[]> {
  const loaded = trusted ? ['user', 'project'] : ['user']
  const version = server.version
  void put({ type: 'agent.connected', agentSessionId: thread.id, model, cwd, agentVersion: version, loaded })
  const [models, skills, account] = await Promise.all([
    server.models().catch(() => []),
    readSkills(server, cwd).catch(() => []),
    readAccount(server).catch(() => undefined),
  ])
  if (server.over) return skills
  const commands = [compact, ...skills.map(({ name, description = '' }) => ({ name, description }))]
  const { credential, billing } = account ?? {}
  const paid = { ...(credential !== undefined && { credential }), ...(billing && { billing }) }
  void put({ type: 'agent.connected', models, commands, ...paid })
  return skills
}
