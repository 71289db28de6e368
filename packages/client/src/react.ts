import { emptyView } from '@parley/protocol'
import {
  createContext,
  createElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'react'
import type { Client } from './client.ts'
import type { LiveStore } from './live-store.ts'
import { createSelection } from './selection.ts'
import type { SessionListOptions, SessionListQuery, SessionListSnapshot } from './session-list.ts'
import type { Mirror, MirrorOptions, MirrorSnapshot } from './session-mirror.ts'
import { createSharedStore, type SharedStore } from './shared-store.ts'
import type { WaitingListSnapshot } from './waiting-list.ts'

const ClientContext = createContext<Client | undefined>(undefined)

export function ParleyProvider({ client, children }: { client: Client; children?: ReactNode }) {
  return createElement(ClientContext, { value: client }, children)
}

export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client) throw new Error('There is no client: wrap this component in a ParleyProvider.')
  return client
}

/** The id of a session, whose mirror all components share, or a separate mirror. */
export type SessionSource = string | LiveStore<MirrorSnapshot>

export function useSession(source: SessionSource): MirrorSnapshot {
  const store = useSessionStore(source)
  return useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot)
}

/** Returns a part of a session. The component renders again only if the part has changed according to `isEqual`. */
export function useSessionView<Part>(
  source: SessionSource,
  selector: (snapshot: MirrorSnapshot) => Part,
  isEqual: (one: Part, other: Part) => boolean = Object.is,
): Part {
  const store = useSessionStore(source)
  const shown = useRef<{ readonly part: Part } | undefined>(undefined)
  const getPart = useMemo(
    () => createSelection({ getSnapshot: store.getSnapshot, selector, isEqual, shown: () => shown.current }),
    [store, selector, isEqual],
  )
  const part = useSyncExternalStore(store.subscribe, getPart, getPart)
  useEffect(() => {
    shown.current = { part }
  }, [part])
  return part
}

/** Returns a function that loads the next older page of a session, if a component shows the session. */
export function useLoadOlder(sessionId: string): () => Promise<void> {
  const client = useClient()
  return useMemo(() => {
    const shared = sharedMirror(client, sessionId)
    return () => shared.current?.loadOlder() ?? Promise.resolve()
  }, [client, sessionId])
}

export function useSessions(
  query: SessionListQuery & { readonly limit?: number } = {},
): SessionListSnapshot & { loadMore(): Promise<void> } {
  const client = useClient()
  const { q, agent, status, archived, limit } = query
  const shared = useMemo(() => {
    const fields = { q, agent, status, archived, limit }
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    return createSharedStore(() => client.sessions(given as SessionListOptions), noSessions)
  }, [client, q, agent, status, archived, limit])
  const snapshot = useSyncExternalStore(shared.subscribe, shared.getSnapshot, shared.getSnapshot)
  return useMemo(
    () => ({ ...snapshot, loadMore: () => shared.current?.loadMore() ?? Promise.resolve() }),
    [snapshot, shared],
  )
}

export function useWaiting(): WaitingListSnapshot {
  const client = useClient()
  const shared = useMemo(() => createSharedStore(() => client.waiting(), nothingWaiting), [client])
  return useSyncExternalStore(shared.subscribe, shared.getSnapshot, shared.getSnapshot)
}

const noSessions: SessionListSnapshot = { status: 'loading', sessions: [], hasMore: false }
const nothingWaiting: WaitingListSnapshot = { status: 'loading', requests: [] }

function useSessionStore(source: SessionSource): LiveStore<MirrorSnapshot> {
  const client = useContext(ClientContext)
  return useMemo(() => {
    if (typeof source !== 'string') return source
    if (!client) throw new Error('There is no client: wrap this component in a ParleyProvider.')
    return sharedMirror(client, source)
  }, [client, source])
}

type SharedMirror = SharedStore<MirrorSnapshot, Mirror>
const mirrors = new WeakMap<Client, Map<string, SharedMirror>>()

/**
 * The mirror of a session that all components of a page share. It exists while one of them uses it. The first caller
 * sets its options.
 */
export function sharedMirror(client: Client, sessionId: string, options?: MirrorOptions): SharedMirror {
  const ofClient = mirrors.get(client) ?? new Map<string, SharedMirror>()
  mirrors.set(client, ofClient)
  const known = ofClient.get(sessionId)
  if (known) return known
  const initial: MirrorSnapshot = { status: 'loading', view: emptyView(sessionId), atStart: false }
  const made = createSharedStore(() => client.mirror(sessionId, options), initial)
  ofClient.set(sessionId, made)
  return made
}
