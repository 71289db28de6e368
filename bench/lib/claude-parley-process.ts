import { join } from 'node:path'
import { type Delta, newId } from '@parley/protocol'
import {
  type AgentAdapter,
  createHost,
  type FeedBatch,
  openSqliteStore,
} from '../../packages/server/src/index.ts'
import { adapterOf } from '../../packages/server/src/testing/real-agents.ts'
import { type ClaudeSide, Listening, ownCost, type Received } from './claude-side.ts'
import { answer, given } from './processes.ts'

/** A Parley host with the real Claude Code, and a reader that follows its session, in one process. */
const { env, folder, maxSpares = 0 } = given<ClaudeSide>()
const store = openSqliteStore({ file: join(folder, 'parley.sqlite') })
const spares = watchSpares(adapterOf('claude', env))
const host = await createHost({ adapters: [spares.adapter], store, limits: { maxSpares } })

/** Wraps the agent; `ready` resolves when the next spare has started. */
function watchSpares(claude: AgentAdapter) {
  let next = Promise.withResolvers<void>()
  const prepare: AgentAdapter['prepare'] = async (input) => {
    const agent = await claude.prepare?.(input)
    if (!agent) throw new Error('Claude Code cannot be started without a session.')
    next.resolve()
    return agent
  }
  return {
    adapter: { ...claude, prepare },
    async ready() {
      await next.promise
      next = Promise.withResolvers()
    },
  }
}

class Follower {
  readonly id: string
  listening = new Listening()
  readonly #connected = Promise.withResolvers<void>()

  private constructor(id: string) {
    this.id = id
  }

  static async follow(id: string): Promise<Follower> {
    const follower = new Follower(id)
    await host.follow(
      id,
      {},
      {
        following: () => undefined,
        deliver: (batch) => follower.#take(batch),
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    )
    return follower
  }

  #take(batch: FeedBatch): void {
    for (const item of batch) {
      if (item.kind === 'delta') {
        const delta = JSON.parse(item.json) as Delta
        if (delta.type === 'text.streamed') this.listening.hear(delta.text)
      } else if (item.kind === 'event') this.#takeEvent(item.json)
    }
  }

  #takeEvent(json: string): void {
    if (json.includes('"type":"agent.connected"')) this.#connected.resolve()
    if (!json.includes('"type":"turn.ended"')) return
    this.listening.end(json.includes('"outcome":"completed"') ? undefined : json)
  }

  get connected(): Promise<void> {
    return this.#connected.promise
  }
}

let current: Follower

const create = (prompt?: string) =>
  host.create({ agent: 'claude', cwd: folder, ...(prompt !== undefined && { prompt }) })

const calls = {
  /** Creates a session. Its agent starts with its first prompt. */
  async open() {
    const { id } = await create()
    current = await Follower.follow(id)
  },
  /** Like `open`, but also waits until the agent has started. Sends no prompt. */
  async openAhead() {
    await calls.open()
    await current.connected
  },
  async turn(text: string): Promise<Received> {
    current.listening = new Listening()
    await host.command(current.id, { type: 'prompt.submit', commandId: newId('cmd'), text })
    return current.listening.received
  },
  /** Creates a session together with its first prompt. */
  async cold(text: string): Promise<Received> {
    const listening = new Listening()
    const { id } = await create(text)
    current = await Follower.follow(id)
    current.listening = listening
    return listening.received
  },
  /** Resolves when a spare has started. */
  spareReady: () => spares.ready(),
  /** Starts an agent in the session's folder before the session exists. */
  prepare: () => host.prepareSession({ agent: 'claude', cwd: folder }),
  close: () => host.command(current.id, { type: 'session.close', commandId: newId('cmd') }),
  ...ownCost,
}
export type ClaudeParleyCalls = typeof calls

answer(calls, async () => {
  await host.close()
  await store.close()
})
