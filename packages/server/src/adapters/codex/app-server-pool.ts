import { unlessAborted } from '@parley/adapter-kit/time-limit'
import { AppServer, type AppServerOptions } from './app-server.ts'

export type Lease = {
  readonly server: AppServer
  readonly isShared: boolean
  /** Releases the program. If nobody else uses it, resolves when the process has ended. Idempotent. */
  release(): Promise<void>
}

type Shared = { readonly starting: Promise<AppServer>; readonly giveUp: AbortController; holders: number }

/**
 * One program for all sessions of an adapter. It is started for the first session and ended with the last. If it
 * dies, the next session that needs it starts another.
 */
export function createAppServerPool(options: () => AppServerOptions) {
  let current: Shared | undefined
  /**
   * Settles when all earlier processes have ended. The next process starts only after that, because only one process
   * may write a conversation.
   */
  let closing: Promise<unknown> = Promise.resolve()

  function share(): Shared {
    if (current) return current
    const giveUp = new AbortController()
    const starting = closing.then(() => {
      giveUp.signal.throwIfAborted()
      return AppServer.start(options(), giveUp.signal)
    })
    const shared: Shared = { starting, giveUp, holders: 0 }
    const forget = () => {
      if (current === shared) current = undefined
    }
    shared.starting.then(({ gone }) => gone.then(forget), forget)
    current = shared
    return shared
  }

  async function release(shared: Shared): Promise<void> {
    shared.holders--
    if (shared.holders > 0) return
    if (current === shared) current = undefined
    shared.giveUp.abort()
    const gone = shared.starting.then(
      (server) => server.close(),
      () => undefined,
    )
    closing = Promise.all([closing, gone])
    await gone
  }

  function lease(shared: Shared, server: AppServer): Lease {
    let released: Promise<void> | undefined
    return {
      server,
      get isShared() {
        return shared.holders > 1
      },
      release() {
        released ??= release(shared)
        return released
      },
    }
  }

  return {
    /**
     * Starts the program, or shares the running one. Rejects with a ParleyError; the caller then has nothing to
     * release.
     */
    async acquire(signal: AbortSignal): Promise<Lease> {
      for (;;) {
        const shared = share()
        shared.holders++
        try {
          const server = await unlessAborted(ready(shared), signal, 'Cancelled while Codex was starting.')
          if (!server.stalled) return lease(shared, server)
        } catch (error) {
          await release(shared)
          throw error
        }
        await release(shared)
      }
    },
  }
}

/** Waits for a pending liveness check, so that no session gets a program that may hang. */
async function ready({ starting }: Shared): Promise<AppServer> {
  const server = await starting
  await server.pendingCheck
  return server
}

export type AppServerPool = ReturnType<typeof createAppServerPool>
