import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '@parley/client'
import {
  type BranchFate,
  type EventOf,
  isWorktreeUnderWay,
  type KnownWorktree,
  type ListedWorktree,
  ParleyError,
  type WorktreeLoss,
  worktreeFailureText,
} from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { type Connected, connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { sizeText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { printList } from '../terminal/table.ts'
import { visible } from '../terminal/visible.ts'

export type WorktreesOptions = Flags & { readonly json?: boolean }
export type RemoveOptions = WorktreesOptions & {
  readonly deleteBranch?: boolean
  readonly ifNothingLost?: boolean
}

const columns = [
  { name: 'SIZE' },
  { name: 'BRANCH', shrinks: true },
  { name: 'SESSION', shrinks: true },
  { name: 'WOULD BE LOST', shrinks: true },
  { name: 'FOLDER' },
]

/** Lists the worktrees of this machine, with what a removal would delete. */
export async function listWorktrees(options: WorktreesOptions, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { worktrees } = await server.client.call('listWorktrees')
  const empty = `No worktrees. Make one: ${context.commandLine('run demo "help" --worktree')}`
  printList(worktrees, { columns, row: rowOf, empty }, { json: options.json, output: context.output })
  return 0
}

function rowOf({ name, bytes, branch = '', session, loss }: ListedWorktree): string[] {
  const size = bytes === undefined ? '' : sizeText(bytes)
  return [size, branch, session ? session.title || session.id : 'orphan', lossText(loss), name]
}

/** The content that a removal would delete, as text. A snapshot may still contain some of it. */
export function lossText(loss: WorktreeLoss | undefined): string {
  if (!loss) return 'unknown'
  const parts = [
    count(loss.changes, 'change'),
    count(loss.commits + loss.loose, 'commit'),
    count(loss.ignoredFiles, 'ignored file'),
    count(loss.leftOut.length, 'path that is in no snapshot', 'paths that are in no snapshot'),
  ].filter((part) => part !== '')
  return parts.join(', ') || 'nothing'
}

function count(number: number, one: string, many = `${one}s`): string {
  return number === 0 ? '' : `${number} ${number === 1 ? one : many}`
}

/** Removes the worktree of a session, or an orphan by the name of its folder. */
export async function removeWorktree(
  reference: string,
  options: RemoveOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const branch: BranchFate = options.deleteBranch ? 'delete' : 'keep'
  const { worktrees } = await client.call('listWorktrees')
  const orphan = worktrees.find(({ name, session }) => name === reference && !session)
  if (orphan) {
    if (options.ifNothingLost && lossText(orphan.loss) !== 'nothing')
      throw new ParleyError('conflict', `Removing ${orphan.path} would lose ${lossText(orphan.loss)}.`)
    await client.call('removeOrphan', { params: { name: orphan.name }, query: { branch } })
    return report(context, options, { name: orphan.name, path: orphan.path }, `Removed ${orphan.path}.`)
  }
  const id = worktrees.find(({ name }) => name === reference)?.session?.id
  const sessionId = id ?? (await findSession(client, reference, context))
  const ifNothingLost = options.ifNothingLost ? (true as const) : undefined
  const worktree = await performed(server, sessionId, {
    type: 'worktree.remove',
    branch,
    ...(ifNothingLost && { ifNothingLost }),
  })
  const back = context.commandLine(`worktrees restore ${sessionId}`)
  const text = `Removed ${visible(worktree.path)}. To restore it: ${back}`
  return report(context, options, { sessionId, worktree }, text)
}

export async function restoreWorktree(
  reference: string,
  options: WorktreesOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const sessionId = await findSession(server.client, reference, context)
  const worktree = await performed(server, sessionId, { type: 'worktree.restore' })
  return report(context, options, { sessionId, worktree }, `Restored ${visible(worktree.path)}.`)
}

/** Checks out the submodules of a worktree whose folders are empty. */
export async function fillWorktree(
  reference: string,
  options: WorktreesOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const sessionId = await findSession(client, reference, context)
  const { seq } = await client.command(sessionId, { type: 'worktree.fill' })
  const { events } = await client.call('events', {
    params: { id: sessionId },
    query: { after: seq - 1, limit: 1 },
  })
  const [event] = events
  const filled = event?.type === 'worktree.filled' ? (event as EventOf<'worktree.filled'>).submodules : []
  const text = filled.length === 0 ? 'No submodule is empty.' : `Filled ${filled.map(visible).join(', ')}.`
  return report(context, options, event ?? {}, text)
}

function report({ output }: Context, { json }: WorktreesOptions, value: object, text: string): number {
  if (json) output.out(`${JSON.stringify(value)}\n`)
  else output.err(`${text}\n`)
  return 0
}

type WorktreeCommand =
  | { type: 'worktree.remove'; branch: 'keep' | 'delete'; ifNothingLost?: true }
  | { type: 'worktree.restore' }

const askedEveryMs = 100

/** Sends the command, and waits until the host has performed it. */
async function performed(
  { client }: Connected,
  sessionId: string,
  command: WorktreeCommand,
): Promise<KnownWorktree> {
  await client.command(sessionId, command)
  for (;;) {
    const worktree = await worktreeOf(client, sessionId)
    const isAsked =
      command.type === 'worktree.remove' ? worktree.phase === 'removed' : worktree.phase === 'ready'
    if (isAsked && !worktree.failure) return worktree
    if (!isWorktreeUnderWay(worktree)) {
      const { failure } = worktree
      const message = failure
        ? worktreeFailureText(failure)
        : 'Somebody else has changed the worktree meanwhile.'
      throw new ParleyError('conflict', message)
    }
    await pause(askedEveryMs)
  }
}

async function worktreeOf(client: Client, id: string): Promise<KnownWorktree> {
  const { worktree } = await client.call('getSession', { params: { id }, query: { tail: 0 } })
  if (worktree) return worktree
  throw new ParleyError('not_found', 'This session has no worktree.')
}
