import type { SearchPage } from '@parley/protocol'
import type { Clock, Host, HostObserver, SearchQuery } from '../core/index.ts'
import type { SearchIndex } from '../core/search-index.ts'
import type { SessionStore } from '../core/session-store.ts'
import type { IndexedLog, Indexer } from './indexer.ts'

export type SearchOptions = {
  readonly store: Pick<SessionStore, 'read' | 'list' | 'load'>
  /** Called once, when something is recorded or searched. */
  readonly openIndex: () => Promise<SearchIndex>
  readonly clock: Clock
  readonly problem: (error: unknown, doing: string) => void
}

export type TextSearch = {
  /** Indexes the events that the host records, after a short delay. */
  readonly observer: HostObserver
  search(query: SearchQuery): Promise<SearchPage>
  /**
   * Indexes the events that were recorded while no process indexed them, and notices deleted and rewritten logs from
   * now on.
   */
  start(host: Pick<Host, 'onSessionChanged'>): void
  close(): Promise<void>
}

type Loaded = { readonly index: SearchIndex; readonly indexer: Indexer }

/** The time after the start at which the index is compared with the logs. A server is busy while it starts. */
const compareMs = 2_000

/**
 * Searches the text of all sessions through an index, which it keeps up to date. Everything but this file is loaded when
 * something is recorded or searched.
 */
export function createTextSearch({ store, openIndex, clock, problem }: SearchOptions): TextSearch {
  let loading: Promise<Loaded> | undefined
  let comparing: Promise<void> | undefined
  let stopWatching: (() => void) | undefined
  let stopTimer: (() => void) | undefined
  let isClosed = false

  const load = () => {
    loading ??= Promise.all([import('./indexer.ts'), openIndex()]).then(([{ Indexer }, index]) => {
      return { index, indexer: new Indexer({ store, index, clock, problem }) }
    })
    return loading
  }
  const use = (work: (indexer: Indexer) => void) => {
    if (isClosed) return
    load().then(
      ({ indexer }) => work(indexer),
      (error) => problem(error, 'open the search index'),
    )
  }
  const wake = (log: IndexedLog) => {
    if (log.seq > 0) use((indexer) => indexer.wake(log))
  }

  /** Compares the index with the logs, once. */
  function compareOnce(): Promise<void> {
    comparing ??= compare()
    return comparing
  }

  async function compare(): Promise<void> {
    try {
      const { sessions } = await store.list({ limit: 1 })
      if (sessions.length > 0 && !isClosed) await (await load()).indexer.compare()
    } catch (error) {
      if (!isClosed) problem(error, 'compare the search index with the sessions')
    }
  }

  return {
    observer: {
      opened: wake,
      recorded: (_, state) => wake(state),
      left: () => undefined,
    },
    async search(query) {
      await compareOnce()
      const [{ findText }, { index, indexer }] = await Promise.all([import('./find-text.ts'), load()])
      const page = await findText(store, index, query)
      return indexer.pending > 0 ? { ...page, pending: indexer.pending } : page
    },
    start(host) {
      stopWatching = host.onSessionChanged(({ session, change, summary }) => {
        if (change === 'deleted') use((indexer) => indexer.remove(session))
        else if (summary) wake(summary)
      })
      stopTimer = clock.after(compareMs, () => void compareOnce(), { background: true })
    },
    async close() {
      isClosed = true
      stopWatching?.()
      stopTimer?.()
      const loaded = await loading?.catch(() => undefined)
      await loaded?.indexer.close()
      await loaded?.index.close()
    },
  }
}
