import {
  type Actor,
  type Command,
  capabilities,
  type DraftOf,
  defined,
  type EventDraft,
  ParleyError,
  type PermissionRule,
  type Receipt,
} from '@parley/protocol'
import { causedBy } from './caused-by.ts'
import { factsFor } from './command-facts.ts'
import { decide } from './decide.ts'
import type { DecideContext } from './decision.ts'
import { folderCommands } from './folder-changes.ts'
import type { ForkCopy } from './fork-session.ts'
import type { LedgerDraft } from './ledger-store.ts'
import type { LogPoint } from './point-before.ts'
import { isSameSender, receiptHash } from './receipt-hash.ts'
import type { Rejoin } from './rejoin.ts'
import type { PlannedRestore } from './rewind-files.ts'
import { type SessionContext, type SessionServices, unknownAgentOf } from './session-services.ts'

export type SessionCommands = {
  /**
   * Resolves when the command is in the log. A repeated id has no further effect and returns the same receipt, even
   * after a restart.
   */
  record(command: Command, by?: Actor): Promise<RecordedCommand>
  readonly busy: boolean
  /** Resolves when the commands that are under way have been recorded or have failed. */
  settled(): Promise<void>
  /** Cancels the commands that work in the folder of the session, and resolves when they have ended. */
  endFolderWork(): Promise<void>
}

type UnderWay = {
  readonly hash: string
  readonly receipt: Promise<RecordedCommand>
  /** Cancels the work in the folder. */
  readonly ending: AbortController
}

/** `fresh` is false for a repeated command. */
export type RecordedCommand = { readonly receipt: Receipt; readonly fresh: boolean }

/** Converts commands to drafts and receipts. The effects of a command follow later, from the log. */
export function createSessionCommands(
  context: SessionContext,
  rejoin: Rejoin,
  startAhead: (sessionId: string) => void,
): SessionCommands {
  const { services, log } = context
  const underWay = new Map<string, UnderWay>()

  async function execute(
    command: Command,
    { hash, signal, by }: { hash: string; signal: AbortSignal; by: Actor | undefined },
  ): Promise<RecordedCommand> {
    const { commandId } = command
    const earlier = await services.store.receipt(log.sessionId, commandId)
    if (earlier) return { receipt: repeated(command, hash, earlier), fresh: false }
    const agent = agentFor(context, command)
    let point: LogPoint | undefined
    const decideContext = (): DecideContext => ({
      ...contextOf(services),
      agent,
      ...(by && { actor: by }),
      point,
      mustWait: rejoin.isRequired || services.awaits !== undefined,
    })
    point = await pointFor(command, context, decideContext())
    const planned = await restorePlan(command, context, point)
    const facts = await factsFor(command, context, signal)
    const copy = await copyFor(command, context, decideContext())
    let receipt: Receipt = { commandId, seq: 0 }
    const recorded = log.transact((state) => {
      const { reply, drafts, ...decision } = decide(state, command, {
        ...decideContext(),
        ...facts,
        ...defined({ planned }),
      })
      return {
        ...decision,
        ledger: services.sealer ? grantedEntries(decision.rules) : [],
        drafts: causedBy(by, drafts),
        receipt: (seq) => {
          receipt = { commandId, seq, ...reply }
          return { commandId, hash, receipt }
        },
      }
    })
    try {
      await recorded
    } catch (error) {
      await copy?.discard()
      throw error
    }
    if (copy?.announce()) startAhead(copy.sessionId)
    return { receipt, fresh: true }
  }

  async function settled(): Promise<void> {
    await Promise.allSettled([...underWay.values()].map(({ receipt }) => receipt))
  }

  return {
    get busy() {
      return underWay.size > 0
    },
    async record(command, by) {
      const hash = receiptHash(command, by)
      const same = underWay.get(command.commandId)
      if (same) return { receipt: (await repeated(command, hash, same)).receipt, fresh: false }
      const ending = new AbortController()
      const recorded = execute(command, { hash, signal: ending.signal, by })
      underWay.set(command.commandId, { hash, receipt: recorded, ending })
      try {
        return await recorded
      } finally {
        underWay.delete(command.commandId)
      }
    },
    settled,
    endFolderWork() {
      for (const { ending } of underWay.values()) ending.abort()
      return settled()
    },
  }
}

function contextOf({ clock, ids, limits, rules, place }: SessionServices) {
  return { now: clock.now(), ids, maxQueue: limits.maxQueue, rules: rules.at(place), place }
}

/**
 * The point before the prompt that the command names; undefined for commands that neither rewind to a prompt nor fork
 * before one.
 */
async function pointFor(
  command: Command,
  { services, log, adapter }: SessionContext,
  decideContext: DecideContext,
): Promise<LogPoint | undefined> {
  const promptId = promptToGoBackTo(command)
  if (promptId === undefined) return undefined
  decide(log.state, command, decideContext)
  const { pointBefore } = await import('./point-before.ts')
  // Files can be restored to a state before a compaction; the conversation cannot.
  const isAboutFiles = command.type === 'session.rewind' && !command.talk
  return pointBefore(services.store, log.state, promptId, isAboutFiles ? undefined : adapter)
}

/** The files that a rewind restores; undefined for other commands. */
async function restorePlan(
  command: Command,
  context: SessionContext,
  point: LogPoint | undefined,
): Promise<PlannedRestore | undefined> {
  if (command.type !== 'session.rewind' || command.files === false || !point) return undefined
  const { planRewind } = await import('./rewind-files.ts')
  return planRewind(context, point.seq, command)
}

/**
 * Copies the log for a fork; undefined for other commands. The copy is made before the fork is recorded, so that a fork in
 * the log always has its session. If the command is refused, the copy is removed.
 */
async function copyFor(
  command: Command,
  context: SessionContext,
  decideContext: DecideContext,
): Promise<ForkCopy | undefined> {
  if (command.type !== 'session.fork') return undefined
  const { services, log } = context
  const { into } = forked(decide(log.state, command, decideContext).drafts)
  const { title, before: promptId, worktree } = command
  const { point, actor: by } = decideContext
  const before = promptId !== undefined && point ? { promptId, point } : undefined
  const place =
    worktree &&
    (await (await import('./fork-worktree.ts')).placeOfFork(context, { worktree, into, title, point }))
  const { forkSession } = await import('./fork-session.ts')
  return forkSession(services, log.state, into, { title, by, before, place })
}

function promptToGoBackTo(command: Command): string | undefined {
  if (command.type === 'session.fork') return command.before
  return command.type === 'session.rewind' ? command.promptId : undefined
}

function repeated<R>(command: Command, hash: string, before: { hash: string; receipt: R }): R {
  if (isSameSender(before.hash, hash)) return before.receipt
  throw new ParleyError(
    'conflict',
    `The commandId ${command.commandId} was used for another command, or by another sender. Choose a new one.`,
  )
}

function grantedEntries(rules: readonly PermissionRule[] = []): LedgerDraft[] {
  return rules.map(({ createdAt: at, createdBy: actor, ruleId: subject, decision, scope, tool }) => {
    const data = { decision, scope, tool }
    return { at, kind: 'rule.added', subject, ...defined({ actor }), data }
  })
}

function forked(drafts: readonly EventDraft[]): DraftOf<'session.forked'> {
  const draft = drafts.find((one) => one.type === 'session.forked')
  if (!draft) throw new ParleyError('internal_error', 'The fork has no new session.')
  return draft
}

/** Commands that end something, or that record something in which the agent has no part. */
const worksWithoutAgent: ReadonlySet<Command['type']> = new Set([
  'turn.cancel',
  'prompt.withdraw',
  'session.close',
  'session.hand-over',
  'check.run',
  'check.stop',
  'attempt.pick',
  'attempt.pass-over',
  ...folderCommands,
])

/**
 * The agent that the command is for. Throws if the agent is unknown, except for commands that need no agent: they must
 * work even if the agent was removed. The agents of an awaited place may be unknown here.
 */
function agentFor({ adapter, log, services }: SessionContext, { type }: Command): DecideContext['agent'] {
  if (adapter) return adapter
  const ends = worksWithoutAgent.has(type)
  if (ends || services.awaits !== undefined)
    return { name: log.state.agent, capabilities: capabilities(), modes: [] }
  throw unknownAgentOf(log.state)
}
