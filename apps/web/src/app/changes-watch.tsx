import { useEffect } from 'react'
import { client, useConnection } from '../base/client.ts'
import { abortable, usePageVisible } from '../base/effects.ts'
import { createPersistedStore } from '../base/persisted-store.ts'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { announce } from '../parts/announcer.tsx'
import { setChangesCount } from '../session-data/changes-count.ts'
import { useLastEnded } from '../session-data/last-ended.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { queryOf, useComparison } from '../session-data/shown-changes.ts'
import { hasNewChanges } from './first-change.logic.ts'

/** Counts the changed files of the open session, and opens the changes panel at the first change. Renders nothing. */
export default function ChangesWatch() {
  useCounting()
  useOpenWithFirstChange()
  return null
}

/** The delay between the end of a step and the read of the list, because each read starts git. */
const calmMs = 1_200

/** Reads the number of changed files while the panel, which reads the whole list, is closed. */
function useCounting(): void {
  const panelOpen = useStore(preferences, (state) => state.sidePanel === 'changes')
  const id = useSessionId()
  const loaded = useSessionState((state) => state.seq > 0)
  const { scope, turnId } = useComparison()
  const ended = useLastEnded()
  const online = useConnection().state === 'open'
  const visible = usePageVisible()
  const reads = loaded && online && visible && !panelOpen
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step that ended may have changed something
  useEffect(() => {
    if (!reads) return undefined
    return abortable((signal) => {
      const timer = setTimeout(() => {
        const query = queryOf({ scope, ...(turnId !== undefined && { turnId }) })
        client.call('listChanges', { params: { id }, query, signal }).then(
          ({ files, cut }) => setChangesCount({ sessionId: id, count: files.length, cut }),
          () => {},
        )
      }, calmMs)
      signal.addEventListener('abort', () => clearTimeout(timer))
    })
  }, [id, reads, scope, turnId, ended])
}

/** From this width on, the session list, the conversation and the changes fit side by side. */
const wide = '(width >= 87.5rem)'
const maxKept = 300

/** The sessions whose changes were shown, newest last. The panel does not open by itself for them again. */
const shown = createPersistedStore<{ readonly sessions: readonly string[] }>('changes-shown', {
  sessions: [],
})

/**
 * On a wide screen, opens the changes panel at the first change of a session, unless its changes were shown
 * before. Does not move the focus.
 */
function useOpenWithFirstChange(): void {
  const id = useSessionState((state) => state.id)
  const panel = useStore(preferences, (state) => state.sidePanel)
  const allowed = useStore(preferences, (state) => state.openChanges)
  const last = useLastEnded()
  const isNew = useSessionState((state) => hasNewChanges(state, last, Date.now()))
  useEffect(() => {
    if (id === '') return
    const known = shown.get().sessions.includes(id)
    if (known || !(panel === 'changes' || (allowed && isNew && panel === 'none' && matchMedia(wide).matches)))
      return
    shown.set(({ sessions }) => ({ sessions: [...sessions, id].slice(-maxKept) }))
    if (panel === 'changes') return
    preferences.set((before) => ({ ...before, sidePanel: 'changes' }))
    announce('The changes are shown beside the conversation')
  }, [id, panel, allowed, isNew])
}
