import { ParleyError, type SessionState, type SessionSummary, summarise } from '@parley/protocol'
import type { Logger } from 'pino'
import type { Clock, Host } from '../core/index.ts'
import { writeCursor } from '../stores/session-listing.ts'
import type { RetentionTimes } from './configuration.ts'
import { ageText } from './durations.ts'

/** The action of retention on a session that was unused for long enough. */
export type Due = 'archive' | 'delete'

type Facts = Pick<SessionSummary, 'pinned' | 'archived' | 'status' | 'waiting' | 'paused' | 'updatedAt'>

/**
 * The action that is due for a session; undefined if none is. Pure. Pinned sessions are kept, and so are sessions with
 * an open turn, an open request, a queued prompt or a background task.
 */
export function dueFor(
  session: Facts,
  { archiveAfter, deleteAfter }: RetentionTimes,
  now: number,
): Due | undefined {
  const { pinned, archived, status, waiting, paused = 0, updatedAt } = session
  if (pinned || status !== 'idle' || waiting > 0 || paused > 0) return undefined
  const unused = now - updatedAt
  if (deleteAfter !== undefined && unused >= deleteAfter) return 'delete'
  return archiveAfter !== undefined && !archived && unused >= archiveAfter ? 'archive' : undefined
}

/** A cursor of the session list that skips sessions that are too recent for any action. */
export function firstDueCursor({ archiveAfter, deleteAfter }: RetentionTimes, now: number): string {
  const shortest = Math.min(archiveAfter ?? Number.POSITIVE_INFINITY, deleteAfter ?? Number.POSITIVE_INFINITY)
  return writeCursor({ pinned: false, updatedAt: now - shortest + 1, id: '' })
}

export type RetentionOptions = {
  /** A host that does not pass operations to other nodes: each node handles only sessions that it owns or can claim. */
  readonly host: Pick<Host, 'list' | 'patch' | 'deleteIf'>
  readonly times: RetentionTimes
  /** Whether the session is in use in a way that its state does not show, such as an open shell. */
  readonly isUsed: (sessionId: string) => boolean
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly clock: Pick<Clock, 'now' | 'after'>
}

const firstMs = 60_000
const everyMs = 3_600_000
const pageSize = 100

/** Archives and deletes the sessions of this process that are due: a minute after the start, then every hour. */
export class Retention {
  readonly #options: RetentionOptions
  #cancel: (() => void) | undefined
  #sweeping: Promise<void> | undefined
  #isStopped = false

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#later(firstMs)
  }

  /** Resolves when the current session has been handled. No further session is handled. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#sweeping
  }

  #later(ms: number): void {
    const begin = () => {
      this.#sweeping = this.sweep().finally(() => {
        if (!this.#isStopped) this.#later(everyMs)
      })
    }
    this.#cancel = this.#options.clock.after(ms, begin, { background: true })
  }

  /** Handles every session that is due now. Does not reject: the next sweep tries failed sessions again. */
  async sweep(): Promise<void> {
    const { host, times, clock, logger } = this.#options
    try {
      let cursor: string | undefined = firstDueCursor(times, clock.now())
      while (cursor !== undefined && !this.#isStopped) {
        const page: Awaited<ReturnType<Host['list']>> = await host.list({ cursor, limit: pageSize })
        for (const session of page.sessions) {
          if (this.#isStopped) return
          await this.#handle(session)
        }
        cursor = page.cursor
      }
    } catch (error) {
      logger.warn({ err: error }, 'could not look for sessions whose retention has ended')
    }
  }

  async #handle(session: SessionSummary): Promise<void> {
    const { times, clock, logger } = this.#options
    const due = dueFor(session, times, clock.now())
    if (due === undefined || this.#options.isUsed(session.id)) return
    try {
      if (!(await this.#perform(session.id, due))) return
      const unused = ageText(clock.now() - session.updatedAt)
      logger.info(
        { sessionId: session.id, unused },
        `retention: ${due === 'delete' ? 'deleted' : 'archived'}`,
      )
    } catch (error) {
      // These errors mean that another process owns the session and handles it, or that the session was just deleted or
      // used.
      const isElsewhere =
        error instanceof ParleyError && ['conflict', 'busy', 'not_found'].includes(error.code)
      if (!isElsewhere) logger.warn({ err: error, sessionId: session.id }, `could not ${due} a session`)
    }
  }

  async #perform(sessionId: string, due: Due): Promise<boolean> {
    const { host, times, clock, isUsed } = this.#options
    if (due === 'archive') {
      await host.patch(sessionId, { archived: true })
      return true
    }
    const isDue = (state: SessionState) =>
      dueFor(summarise(state), times, clock.now()) === 'delete' &&
      state.queue.length === 0 &&
      !isUsed(sessionId)
    return host.deleteIf(sessionId, isDue)
  }
}
