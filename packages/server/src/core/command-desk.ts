import {
  type Command,
  type DraftOf,
  type EventDraft,
  ParleyError,
  type PermissionRule,
  type Receipt,
  type SessionState,
} from '@parley/protocol'
import type { Clock, Ids } from './clock.ts'
import { type DecideContext, decide } from './decide.ts'
import { hashOf } from './hash.ts'
import type { SessionLog } from './session-log.ts'
import type { SessionStore } from './session-store.ts'

export type CommandDesk = {
  /** Resolves when the command is in the log. The same id twice is one effect and the same receipt, restarts included. */
  take(command: Command): Promise<Taken>
  readonly busy: boolean
}

/** `fresh` is true the first time only. */
export type Taken = { readonly receipt: Receipt; readonly fresh: boolean }

/** A new session that is not announced yet. */
export type ForkCopy = { announce(): void; discard(): Promise<void> }

/** Turns commands into drafts and receipts. It acts on nothing: the effects of a command follow from the log. */
export function createCommandDesk(options: {
  log: SessionLog
  store: SessionStore
  clock: Clock
  ids: Ids
  maxQueue: number
  rules: () => readonly PermissionRule[]
  /** The agent that the command is for; throws if the command needs an agent that is not known here. */
  agent: (command: Command) => DecideContext['agent']
  /** Something must run before the next turn: a prompt waits in the queue. */
  mustWait: () => boolean
  /** Copies the log of a session into a new one; the same child twice is one copy. */
  fork: (parent: SessionState, child: string, title: string | undefined) => Promise<ForkCopy>
}): CommandDesk {
  const { log, store, clock, ids, maxQueue, fork } = options
  const underWay = new Map<string, { hash: string; receipt: Promise<Taken> }>()

  async function execute(command: Command, hash: string): Promise<Taken> {
    const { commandId } = command
    const earlier = await store.receipt(log.sessionId, commandId)
    if (earlier) return { receipt: repeated(command, hash, earlier), fresh: false }
    const agent = options.agent(command)
    const context = () => ({
      now: clock.now(),
      ids,
      agent,
      maxQueue,
      rules: options.rules(),
      mustWait: options.mustWait(),
    })
    const copy = await copyFor(command, context())
    let receipt: Receipt = { commandId, seq: 0 }
    const recorded = log.transact((state) => {
      const { reply, ...decision } = decide(state, command, context())
      return {
        ...decision,
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
    copy?.announce()
    return { receipt, fresh: true }
  }

  /** The copy is made first, so that a fork in the log always has its session; a refusal removes the copy. */
  async function copyFor(command: Command, context: DecideContext): Promise<ForkCopy | undefined> {
    if (command.type !== 'session.fork') return undefined
    const { into } = forked(decide(log.state, command, context).drafts)
    return fork(log.state, into, command.title)
  }

  return {
    get busy() {
      return underWay.size > 0
    },
    async take(command) {
      const hash = hashOf(command)
      const same = underWay.get(command.commandId)
      if (same) return { receipt: (await repeated(command, hash, same)).receipt, fresh: false }
      const taken = execute(command, hash)
      underWay.set(command.commandId, { hash, receipt: taken })
      try {
        return await taken
      } finally {
        underWay.delete(command.commandId)
      }
    },
  }
}

function repeated<R>(command: Command, hash: string, before: { hash: string; receipt: R }): R {
  if (before.hash === hash) return before.receipt
  throw new ParleyError(
    'conflict',
    `The commandId ${command.commandId} was used for another command. Choose a new one.`,
  )
}

function forked(drafts: readonly EventDraft[]): DraftOf<'session.forked'> {
  const draft = drafts.find((one) => one.type === 'session.forked')
  if (!draft) throw new ParleyError('internal_error', 'A fork without a new session.')
  return draft
}
