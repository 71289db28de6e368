import { unlessAborted } from '../unless-aborted.ts'
import { AppServer, type AppServerOptions } from './app-server.ts'

export type Lease = {
  readonly server: AppServer
  /** Others need the program, too. */
  readonly isShared: boolean
  /** Resolves, if nobody else needs the program, when it is gone. Idempotent. */
  release(): Promise<void>
}

type Shared = { readonly starting: Promise<AppServer>; readonly giveUp: AbortController; holders: number }

/**
 * One program for all sessions of an adapter: started for the first, ended with the last. After its death the next one
 * who needs it starts another.
 */
export function createAppServerPool(options: () => AppServerOptions) {
  let current: Shared | undefined
  /** A conversation can be written by one process only: the next one starts when the last is gone. */
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

  async function letGo(shared: Shared): Promise<void> {
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
        released ??= letGo(shared)
        return released
      },
    }
  }

  return {
    /** Rejects with a ParleyError; nothing is held then. */
    async acquire(signal: AbortSignal): Promise<Lease> {
      for (;;) {
        const shared = share()
        shared.holders++
        try {
          const server = await unlessAborted(ready(shared), signal, 'Cancelled while Codex was started.')
          if (!server.stalled) return lease(shared, server)
        } catch (error) {
          await letGo(shared)
          throw error
        }
        await letGo(shared)
      }
    },
  }
}

/** Nobody is given a program that others doubt. */
async function ready({ starting }: Shared): Promise<AppServer> {
  const server = await starting
  await server.suspicion
  return server
}

export type AppServerPool = ReturnType<typeof createAppServerPool>
