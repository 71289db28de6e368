import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@parley/client'
import { type Attempt, defined, ParleyError, type Round } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText, durationText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findProject } from '../project-reference.ts'
import { findRound } from '../round-reference.ts'
import { shownIds } from '../session-reference.ts'
import type { Output } from '../terminal/output.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type RoundsOptions = Flags & {
  readonly json?: boolean
  readonly project?: string
  readonly limit?: string
}

const listColumns = [
  { name: 'ID', shrinks: true },
  { name: 'AGE' },
  { name: 'TITLE', shrinks: true },
  { name: 'ATTEMPTS', shrinks: true },
  { name: 'PICKED' },
]

/** Lists rounds, the most recently changed first. */
export async function listRounds(options: RoundsOptions, context: Context): Promise<number> {
  const limit = Number(options.limit ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    throw new ParleyError('validation_error', `--limit takes a number from 1 to 100, not "${options.limit}".`)
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const project =
    options.project === undefined ? undefined : await findProject(client, options.project, context)
  const { rounds } = await client.call('listRounds', { query: defined({ project, limit }) })
  const empty = `No rounds yet. Make one: ${context.commandLine('round "…" --agents demo,demo')}`
  const ids = shownIds(
    rounds.map(({ id }) => id),
    context.output,
  )
  const row = ({ id, updatedAt, title, attempts, picked }: Round) => [
    ids(id),
    ageText(Date.now() - updatedAt),
    title,
    attempts.map(({ attempt, agent, state }) => `${attempt} ${agent} ${state}`).join(', '),
    picked === undefined ? '' : String(picked),
  ]
  printList(rounds, { columns: listColumns, row, empty }, { json: options.json, output: context.output })
  return 0
}

/** Shows the attempts of a round beside each other. */
export async function showRound(
  reference: string,
  options: RoundsOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { id } = await findRound(server.client, reference, context)
  const round = await server.client.call('getRound', { params: { id } })
  printRound(round, options, context)
  return 0
}

const attemptColumns = [
  { name: '#' },
  { name: 'AGENT' },
  { name: 'STATE', shrinks: true },
  { name: 'FILES' },
  { name: 'LINES' },
  { name: 'CHECK', shrinks: true },
  { name: 'TIME' },
  { name: 'TOKENS' },
  { name: 'COST' },
  { name: 'SESSION', shrinks: true },
]

export function printRound(round: Round, { json }: { readonly json?: boolean }, { output }: Context): void {
  if (json) {
    output.out(`${JSON.stringify(round)}\n`)
    return
  }
  output.out(`${oneLine(round.title)}\n`)
  const empty = 'All attempts of this round were deleted.'
  printList(round.attempts, { columns: attemptColumns, row: rowOf, empty }, { json: undefined, output })
}

function rowOf(attempt: Attempt): string[] {
  const { changes, tokens, costUsd, notionalCost, workedMs, model } = attempt
  return [
    `${attempt.attempt}${attempt.pick === 'picked' ? ' picked' : ''}`,
    model === undefined ? attempt.agent : `${attempt.agent}:${model}`,
    attempt.failure ? `${attempt.state}: ${attempt.failure.message}` : attempt.state,
    changes ? `${changes.files}${changes.cut ? '+' : ''}` : '',
    changes ? `+${changes.added} -${changes.removed}` : '',
    checkText(attempt),
    workedMs > 0 ? durationText(workedMs) : '',
    tokens ? String(tokens.input + tokens.output) : 'not reported',
    costUsd === undefined ? 'not reported' : `$${costUsd.toFixed(4)}${notionalCost ? ' list' : ''}`,
    attempt.sessionId,
  ]
}

function checkText({ check }: Attempt): string {
  if (!check) return ''
  if (check.running) return 'running'
  const result =
    check.exitCode === 0
      ? 'passed'
      : check.exitCode === undefined
        ? 'did not end'
        : `failed (${check.exitCode})`
  return check.outdated ? `${result}, outdated` : result
}

const askedEveryMs = 200

/** Picks an attempt, and waits until the other attempts have recorded this. */
export async function pickAttempt(
  reference: string,
  given: string,
  options: RoundsOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const { id, attempts } = await findRound(client, reference, context)
  const picked = attempts.find(({ attempt }) => String(attempt) === given)
  if (!picked) {
    const numbers = attempts.map(({ attempt }) => attempt).join(', ')
    throw new ParleyError('validation_error', `The round has the attempts ${numbers}, not "${given}".`)
  }
  await client.command(picked.sessionId, { type: 'attempt.pick' })
  const sessions = attempts.map(({ sessionId }) => sessionId)
  const round = await settled(client, { id, sessions }, context.output)
  if (options.json) context.output.out(`${JSON.stringify(round)}\n`)
  else context.output.err(`${pickText(round, picked.attempt)}\n`)
  return 0
}

function pickText({ attempts }: Round, number: number): string {
  const branch = attempts.find(({ attempt }) => attempt === number)?.worktree?.branch
  const kept = attempts.filter(({ worktree }) => worktree?.kept).map(({ attempt }) => attempt)
  const left = kept.length > 0 ? ` The worktrees of these attempts were kept: ${kept.join(', ')}.` : ''
  return `Picked attempt ${number}${branch === undefined ? '' : `, on the branch ${oneLine(branch)}`}.${left}`
}

const underWay: ReadonlySet<string> = new Set(['making', 'preparing', 'removing', 'restoring'])

/** Waits until no worktree of the round changes any more. */
async function settled(
  client: Client,
  { id, sessions }: { readonly id: string; readonly sessions: readonly string[] },
  { err }: Output,
): Promise<Round> {
  for (let isTold = false; ; isTold = true) {
    const states = await Promise.all(
      sessions.map((id) => client.call('getSession', { params: { id }, query: { tail: 0 } })),
    )
    if (states.every(({ round, worktree }) => !round?.pick?.due && !underWay.has(worktree?.phase ?? '')))
      return client.call('getRound', { params: { id } })
    if (!isTold) err('parley: stopping the other attempts and removing their worktrees…\n')
    await pause(askedEveryMs)
  }
}
