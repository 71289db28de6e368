import { resolve } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import type { Client, FeedItem } from '@parley/client'
import {
  defined,
  type EventOf,
  hasCode,
  isKnown,
  isWorktreeUnderWay,
  type Me,
  type NewWorktree,
  ParleyError,
  PermissionMode,
  type SessionDetail,
  type SessionEvent,
  type SessionState,
  type UnknownEvent,
  visible,
} from '@parley/protocol'
import type { Configuration, Flags } from '../configuration.ts'
import { type Connected, connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { durationText, parseDuration } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { exitCodes } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { findSession } from '../session-reference.ts'
import type { Answerer } from '../terminal/person.ts'
import { Screen } from '../terminal/screen.ts'
import { Transcript } from '../terminal/transcript.ts'
import { watchSession } from '../watch-session.ts'
import { createRunAnswerer, expectPolicy, policyOf } from './run-answerer.ts'

export type RunOptions = Flags & {
  readonly cwd?: string
  readonly model?: string
  readonly mode?: string
  readonly title?: string
  readonly worktree?: boolean
  readonly base?: string
  readonly branch?: string
  readonly session?: string
  readonly trust?: boolean
  readonly env?: readonly string[]
  readonly json?: boolean
  readonly deltas?: boolean
  readonly onPermission?: string
  readonly timeout?: string
}

type Run = {
  readonly server: Connected
  readonly client: Client
  readonly session: SessionState
  readonly context: Context
  readonly options: RunOptions
  readonly screen: Screen
  /** The token that this command uses, with its scopes and limits. */
  readonly me: Me
  readonly decided: Set<string>
}

/** The time limit for the server to accept the prompt. */
const submitMs = 30_000

/** Sends one prompt and waits for the end of its turn. The outcome determines the exit code. */
export async function run(
  agent: string,
  given: string | undefined,
  options: RunOptions,
  context: Context,
): Promise<number> {
  const isNew = options.session === undefined
  const configuration = (isNew ? configurationOf : existingConfigurationOf)(context, options)
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout, '--timeout')
  const mode = modeOf(options.mode)
  policyOf(options, context)
  const prompt = await promptOf(given, context)
  const begun = await begin(configuration, context, async (client) => {
    const me = await client.access.me()
    expectPolicy(options, me)
    return { me, session: await openSession(client, { agent, mode, options, context, prompt }) }
  })
  await using server = begun.server
  const { session, me } = begun.opened
  const { client } = server
  server.own(session.id)
  await server.useOtherNodes()
  const stopping = Promise.withResolvers<string | undefined>()
  using interrupts = onInterrupt(() => stopping.resolve(undefined))
  const timer = setTimeout(
    () => stopping.resolve(`timed out after ${durationText(timeoutMs ?? 0)}; stopping the turn`),
    timeoutMs ?? 2 ** 31 - 1,
  )
  const screen = new Screen({
    stdin: context.stdin,
    stderr: process.stderr,
    output: context.output,
    onInterrupt: interrupts.interrupt,
  })
  try {
    const decided = new Set<string>()
    const run = { server, client, session, context, options, screen, me, decided }
    const { end, isStarted } = await promptAndWatch(run, prompt, stopping)
    if (!isStarted && isNew) printKeptSession(session, context)
    else if (!options.json) printContinueHint(session, context)
    if (end === undefined) return isStarted ? exitCodes.cancelled : exitCodes.failed
    return exitCodes[end.outcome]
  } catch (thrown) {
    if (!(thrown instanceof ParleyError) || thrown.details?.reason !== 'lost') throw thrown
    context.output.err(`parley: ${visible(thrown.message)}\n`)
    return exitCodes.unknown
  } finally {
    clearTimeout(timer)
    screen.close()
  }
}

/**
 * Connects to a server and opens the session. The server may belong to another command and end with it; then
 * the next server, or an embedded server, is used.
 */
async function begin<Opened>(
  configuration: Configuration,
  context: Context,
  open: (client: Client) => Promise<Opened>,
): Promise<{ server: Connected; opened: Opened }> {
  for (let tries = 1; ; tries++) {
    const server = await connect(configuration, context)
    try {
      return { server, opened: await open(server.client) }
    } catch (thrown) {
      await server[Symbol.asyncDispose]()
      if (server.embedded || !hasCode(thrown, 'busy') || tries >= 3) throw thrown
    }
  }
}

/**
 * Submits the prompt and follows its turn. `end` is undefined if the prompt never became a turn; `isStarted` is false if
 * the agent or the worktree could not be started.
 */
async function promptAndWatch(
  run: Run,
  prompt: string,
  stopping: PromiseWithResolvers<string | undefined>,
): Promise<{ end: EventOf<'turn.ended'> | undefined; isStarted: boolean }> {
  const { client, session, screen } = run
  const say = (line: string) => screen.say(line)
  const { promptId } = await submit(run, prompt)
  if (isAwaited(session)) say(await awaitedText(run))
  let turnId: string | undefined
  let isStarted = true

  const failed = new AbortController()
  const stop = async (why: string | undefined) => {
    if (why !== undefined) say(`parley: ${why}`)
    // If a person presses Ctrl-C, the queue is paused; a timeout does not pause it.
    await stopTurn(client, session.id, { promptId, turnId, pauseQueue: why === undefined })
  }
  stopping.promise.then(stop).catch((thrown: unknown) => failed.abort(thrown))

  const isLast = (event: SessionEvent) => {
    if (event.type === 'turn.started' && event.promptId === promptId) turnId = event.turnId
    if (event.type === 'queue.paused' && turnId === undefined) say(pausedText(run))
    if (event.type === 'agent.disconnected') isStarted = event.reason !== 'failed-to-start'
    if (event.type === 'worktree.failed') {
      isStarted = false
      return true
    }
    if (event.type === 'prompt.withdrawn') return event.promptId === promptId
    return event.type === 'turn.ended' && event.turnId === turnId
  }
  const last = await watchSession(
    {
      server: run.server,
      sessionId: session.id,
      from: run.options.session === undefined ? { after: 0, epoch: session.epoch } : fromState(session),
      show: run.options.json ? jsonShow(run) : transcriptShow(run),
      answerer: answererOf(run, stopping.resolve),
      signal: failed.signal,
      say,
      commandLine: run.context.commandLine,
    },
    isLast,
  )
  if (failed.signal.aborted) throw failed.signal.reason
  return { end: last?.type === 'turn.ended' ? last : undefined, isStarted }
}

/** Whether no server runs on the machine of the session, so that a prompt waits there. */
function isAwaited(session: SessionState): boolean {
  return (session as Partial<SessionDetail>).awaits !== undefined
}

async function awaitedText({ client, session: { id } }: Run): Promise<string> {
  const { machine } = await client.call('getSessionNode', { params: { id } })
  return `parley: the prompt waits for the machine ${machine}, where no server runs now. It runs when a server is started there. Ctrl-C withdraws it.`
}

function pausedText({ context, session }: Run): string {
  return `parley: this prompt is paused, because the turn before it was stopped. To run it: ${context.commandLine(`resume ${session.id}`)}`
}

/** Submits the prompt. If it is refused, the session that was created for it is deleted again. */
async function submit({ client, session, options }: Run, prompt: string) {
  try {
    return await client.prompt(session.id, prompt, { signal: AbortSignal.timeout(submitMs) })
  } catch (thrown) {
    // After `busy` or `cancelled`, the prompt may still arrive. Any other ParleyError is a refusal.
    const isRefusal = thrown instanceof ParleyError && !hasCode(thrown, 'busy', 'cancelled')
    if (options.session === undefined && isRefusal) await removeEmpty(client, session.id)
    throw thrown
  }
}

async function removeEmpty(client: Client, id: string): Promise<void> {
  const params = { id }
  try {
    const { turns, turn, queue } = await client.call('getSession', { params, query: { tail: 0 } })
    if (turns === 0 && !turn && queue.length === 0) await client.call('deleteSession', { params })
  } catch {
    // Ignored, so that the error of the refused prompt is reported.
  }
}

function fromState({ seq, epoch }: SessionState) {
  return { after: seq, epoch }
}

/** Withdraws a queued prompt, or cancels a running turn. */
async function stopTurn(
  client: Client,
  sessionId: string,
  stopped: { promptId: string | undefined; turnId: string | undefined; pauseQueue: boolean },
): Promise<void> {
  const { promptId, turnId, pauseQueue } = stopped
  try {
    if (turnId === undefined && promptId !== undefined)
      return void (await client.withdraw(sessionId, promptId))
  } catch (thrown) {
    if (!hasCode(thrown, 'conflict')) throw thrown
  }
  try {
    await client.cancel(sessionId, defined({ pauseQueue, turnId }))
  } catch (thrown) {
    if (!hasCode(thrown, 'conflict')) throw thrown
  }
}

/**
 * Returns the named variables with their values in this environment. Only names are given as arguments, because other
 * users of the machine can see arguments.
 */
function inherited(names: readonly string[], { env }: Context): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => {
      const value = env[name]
      if (value !== undefined) return [name, value]
      const message = `--env: ${name} is not set in this environment. Give only the name; the value is taken from this environment.`
      throw new ParleyError('validation_error', message)
    }),
  )
}

async function openSession(
  client: Client,
  input: {
    agent: string
    mode: PermissionMode | undefined
    options: RunOptions
    context: Context
    prompt: string
  },
): Promise<SessionState> {
  const { agent, mode, options, context, prompt } = input
  const { model } = options
  const worktree = worktreeIn(options)
  // The branch is named after the title.
  const title = options.title ?? (worktree && prompt.trim().split('\n', 1)[0]?.slice(0, 80))
  const settings = defined({ model, mode })
  if (options.session === undefined) {
    const cwd = resolve(context.cwd, options.cwd ?? '.')
    const trust = options.trust || undefined
    const env = options.env && inherited(options.env, context)
    return client.createSession(defined({ agent, cwd, ...settings, title, trust, env, worktree }))
  }
  for (const name of ['cwd', 'title', 'env', 'worktree'] as const) {
    if (options[name] === undefined) continue
    throw new ParleyError(
      'validation_error',
      `--${name} is for a new session; --session continues an existing one.`,
    )
  }
  const id = await findSession(client, options.session, context)
  const state = await client.call('getSession', { params: { id }, query: { tail: 0 } })
  if (state.agent !== agent) {
    throw new ParleyError('validation_error', `Session ${id} uses the agent ${state.agent}, not ${agent}.`)
  }
  if (Object.keys(settings).length > 0) await client.configure(id, settings)
  if (options.trust) await client.call('trustFolder', { body: { folder: state.cwd } })
  return state
}

function worktreeIn({ worktree, base, branch }: RunOptions): NewWorktree | undefined {
  if (worktree) return defined({ base, branch })
  if (base === undefined && branch === undefined) return undefined
  throw new ParleyError('validation_error', '--base and --branch are for a new worktree: add --worktree.')
}

function transcriptShow(run: Run): (item: FeedItem) => void {
  const { context, screen } = run
  const { output } = context
  const asks = output.canAsk && policyOf(run.options, context) === 'ask'
  const transcript = new Transcript({ ...output, style: output.errStyle, prompts: false, asks })
  return (item) => {
    if (item.type === 'event' && !isDescribed(item.event, run)) screen.print(transcript.event(item.event))
    if (item.type === 'delta') screen.print(transcript.delta(item.delta))
  }
}

/** Whether a message has described the event: a decision of --on-permission, or a prompt that waits for a machine. */
function isDescribed(event: SessionEvent | UnknownEvent, { decided, session }: Run): boolean {
  if (!isKnown(event)) return false
  if (event.type === 'prompt.queued') return isAwaited(session) || isWorktreeUnderWay(session.worktree)
  return event.type === 'permission.resolved' && decided.has(event.requestId)
}

function jsonShow({ context, options }: Run): (item: FeedItem) => void {
  return (item) => {
    if (item.type === 'event') context.output.out(`${JSON.stringify(item.event)}\n`)
    if (item.type === 'delta' && options.deltas) context.output.out(`${JSON.stringify(item.delta)}\n`)
  }
}

function answererOf(run: Run, stop: (why: string | undefined) => void): Answerer {
  const { server, session, context, screen, options, me, decided } = run
  const asked = { server, sessionId: session.id, context, screen, me, options }
  return createRunAnswerer(asked, { stop, onDecision: (requestId) => decided.add(requestId) })
}

export function modeOf(given: string | undefined): PermissionMode | undefined {
  if (given === undefined) return undefined
  const mode = PermissionMode.safeParse(given)
  if (mode.success) return mode.data
  throw new ParleyError(
    'validation_error',
    `--mode takes one of ${PermissionMode.options.join(', ')}, not "${given}".`,
  )
}

export async function promptOf(given: string | undefined, { stdin }: Context): Promise<string> {
  if (given !== undefined && given !== '-') return checkedPrompt(given)
  if (given === undefined && stdin.isTTY) {
    throw new ParleyError('validation_error', 'No prompt was given. Write it after the agent, in quotes.')
  }
  return checkedPrompt(await readAll(stdin))
}

function checkedPrompt(prompt: string): string {
  if (prompt.trim() !== '') return prompt
  throw new ParleyError('validation_error', 'The prompt is empty.')
}

function printContinueHint(session: SessionState, { output, commandLine }: Context): void {
  if (!output.isErrTerminal) return
  const go = commandLine(`run ${session.agent} "…" --session ${session.id}`)
  output.err(`${output.errStyle.dim(`to continue: ${go}`)}\n`)
}

/**
 * Prints commands to continue, show or delete the session if the agent did not start. The session's log contains the
 * prompt and the reason, often in more detail than the error.
 */
function printKeptSession({ id, agent }: SessionState, { output, commandLine }: Context): void {
  const lines = [
    `parley: the prompt is kept in the session ${id}`,
    `  try again: ${commandLine(`run ${agent} "…" --session ${id}`)}`,
    `  see it: ${commandLine(`show ${id}`)}`,
    `  delete it: ${commandLine(`delete ${id}`)}`,
  ]
  output.err(`${lines.join('\n')}\n`)
}
