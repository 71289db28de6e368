import { useEffect } from 'react'
import { createPersistedStore } from '../base/persisted-store.ts'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { announce } from '../parts/announcer.tsx'
import { useLastEnded } from '../session-data/last-ended.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { hasNewChanges } from './first-change.logic.ts'

/** The width from which the session list, the conversation and the changes fit side by side. */
const wide = '(width >= 87.5rem)'
const maxKept = 300

/** The sessions whose changes were shown, newest last. They are not opened by themselves again. */
const shown = createPersistedStore<{ readonly sessions: readonly string[] }>('changes-shown', {
  sessions: [],
})

/**
 * On a wide screen, opens the changes with the first change of a session, unless the person has seen and closed them
 * before. The focus stays where it is.
 */
export function useOpenWithFirstChange(): void {
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
