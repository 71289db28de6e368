import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@parley/client'
import { type Attempt, defined, type NewAttempt, ParleyError, type Round } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import { type Context, configurationOf } from '../context.ts'
import { exitCodes } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import { oneLine } from '../terminal/visible.ts'
import { printRound } from './rounds.ts'
import { modeOf, promptOf } from './run.ts'

export type RoundOptions = Flags & {
  readonly agents?: string
  readonly cwd?: string
  readonly base?: string
  readonly mode?: string
  readonly title?: string
  readonly trust?: boolean
  readonly check?: boolean
  readonly json?: boolean
}

const askedEveryMs = 500

/** Gives one prompt to several agents, and waits until all attempts are over. */
export async function round(
  given: string | undefined,
  options: RoundOptions,
  context: Context,
): Promise<number> {
  const attempts = attemptsOf(options)
  const prompt = await promptOf(given, context)
  await using server = await connect(configurationOf(context, options), context)
  const { client } = server
  const cwd = resolve(context.cwd, options.cwd ?? '.')
  if (options.trust) await client.call('trustFolder', { body: { folder: cwd } })
  const { base, title } = options
  const made = await client.createRound({ prompt, cwd, attempts, ...defined({ base, title }) })
  for (const { sessionId } of made.attempts) server.own(sessionId)
  await server.useOtherNodes()
  if (options.check && !made.checkable)
    context.output.err('parley: this project has no check command, so no check is run\n')
  const left = new AbortController()
  using _ = onInterrupt(() => left.abort())
  await watched(client, made, { ...options, signal: left.signal }, context)
  const over = await client.call('getRound', { params: { id: made.id } })
  printRound(over, options, context)
  if (left.signal.aborted) {
    const how = context.commandLine(`rounds show ${made.id}`)
    context.output.err(`parley: the round ${server.embedded ? 'was stopped' : 'continues'}; see it: ${how}\n`)
    return exitCodes.cancelled
  }
  const pick = context.commandLine(`rounds pick ${made.id} <number>`)
  if (!options.json) context.output.err(`to pick one: ${pick}\n`)
  return over.attempts.some(({ state }) => state === 'done') ? exitCodes.completed : exitCodes.failed
}

type Watch = Pick<RoundOptions, 'check'> & { readonly signal: AbortSignal }

/** Prints each change of the state of an attempt and runs the checks, until nothing is left to do. */
async function watched(
  client: Client,
  made: Round,
  { check, signal }: Watch,
  { output, commandLine }: Context,
): Promise<void> {
  // The requested models, because an agent reports its model only later.
  const names = new Map(made.attempts.map((attempt) => [attempt.attempt, nameOf(attempt)]))
  const told = new Map<number, string>()
  const checked = new Set<number>()
  for (;;) {
    const now = await present(client, made.id)
    for (const attempt of now.attempts) {
      const text = progressOf(attempt, commandLine)
      if (told.get(attempt.attempt) === text) continue
      output.err(`${attempt.attempt} ${names.get(attempt.attempt)}: ${text}\n`)
      told.set(attempt.attempt, text)
    }
    const toCheck = now.attempts.filter(
      ({ state, attempt }) => check && now.checkable && state === 'done' && !checked.has(attempt),
    )
    for (const { attempt, sessionId } of toCheck) {
      checked.add(attempt)
      await client.command(sessionId, { type: 'check.run' }).catch((error: unknown) => {
        if (!(error instanceof ParleyError)) throw error
        output.err(`${attempt} ${names.get(attempt)}: not checked: ${oneLine(error.message)}\n`)
      })
    }
    const runs = now.attempts.some((one) => isRunning(one) || one.check?.running)
    if (signal.aborted || (!runs && toCheck.length === 0)) return
    await pause(askedEveryMs, undefined, { signal }).catch(() => undefined)
  }
}

/** The round without the changes of its attempts, for which the server would take a snapshot of each worktree. */
async function present(client: Client, id: string): Promise<Round> {
  const { rounds } = await client.call('listRounds', { query: { limit: 5 } })
  return rounds.find((one) => one.id === id) ?? client.call('getRound', { params: { id } })
}

const isRunning = ({ state }: Attempt) => state === 'preparing' || state === 'working' || state === 'waiting'

const nameOf = ({ agent, model }: Attempt) => (model === undefined ? agent : `${agent}:${model}`)

function progressOf(attempt: Attempt, commandLine: Context['commandLine']): string {
  const { state, failure, check, sessionId } = attempt
  if (state === 'waiting') return `waits for a person: ${commandLine(`attach ${sessionId}`)}`
  if (failure) return `${state}: ${oneLine(failure.message)}`
  if (check?.running) return `${state}, its check runs`
  if (!check) return state
  return `${state}, its check ${check.exitCode === 0 ? 'passed' : 'did not pass'}`
}

/** `claude:opus,codex`: agents, each with an optional model. */
function attemptsOf({ agents = '', mode: given }: RoundOptions): NewAttempt[] {
  const mode = modeOf(given)
  const named = agents
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  if (named.length >= 2 && named.length <= 5)
    return named.map((one) => {
      const [agent = '', ...model] = one.split(':')
      return { agent, ...defined({ mode }), ...(model.length > 0 && { model: model.join(':') }) }
    })
  throw new ParleyError(
    'validation_error',
    '--agents takes two to five agents, separated by commas, each with an optional model: --agents claude:opus,codex',
  )
}
