import {
  type Command,
  type DraftOf,
  type EventDraft,
  ParleyError,
  type Receipt,
  type SessionState,
} from '@parley/protocol'
import type { AgentAdapter } from './agent-adapter.ts'
import type { Clock, Ids } from './clock.ts'
import { decide } from './decide.ts'
import { hashOf } from './hash.ts'
import type { SessionLog } from './session-log.ts'
import type { SessionStore } from './session-store.ts'

export type CommandDesk = {
  /** Resolves when the command is in the log. The same id twice is one effect and the same receipt, restarts included. */
  take(command: Command): Promise<Receipt>
  readonly busy: boolean
}

/** Where commands become drafts and receipts. Acts on nothing: what a command sets in motion follows from the log. */
export function createCommandDesk(options: {
  log: SessionLog
  store: SessionStore
  clock: Clock
  ids: Ids
  maxQueue: number
  adapter: () => AgentAdapter
  /** Copies the log of a session into a new one; the same child twice is one copy. */
  fork: (parent: SessionState, child: string, title: string | undefined) => Promise<void>
}): CommandDesk {
  const { log, store, clock, ids, maxQueue, adapter, fork } = options
  const underWay = new Map<string, { hash: string; receipt: Promise<Receipt> }>()

  async function execute(command: Command, hash: string): Promise<Receipt> {
    const { commandId } = command
    const earlier = await store.receipt(log.sessionId, commandId)
    if (earlier) return repeated(command, hash, earlier)
    const agent = adapter()
    const context = () => ({ now: clock.now(), ids, agent, maxQueue })
    if (command.type === 'session.fork') {
      const { into } = forked(decide(log.state, command, context()).drafts)
      await fork(log.state, into, command.title)
    }
    let receipt: Receipt = { commandId, seq: 0 }
    await log.transact((state) => {
      const { reply, ...decision } = decide(state, command, context())
      return {
        ...decision,
        receipt: (seq) => {
          receipt = { commandId, seq, ...reply }
          return { commandId, hash, receipt }
        },
      }
    })
    return receipt
  }

  return {
    get busy() {
      return underWay.size > 0
    },
    async take(command) {
      const hash = hashOf(command)
      const same = underWay.get(command.commandId)
      if (same) return repeated(command, hash, same)
      const receipt = execute(command, hash)
      underWay.set(command.commandId, { hash, receipt })
      try {
        return await receipt
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
