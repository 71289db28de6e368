import { useEffect, useLayoutEffect, useRef } from 'react'
import { preferences } from '../base/preferences.ts'
import { panelDepth, replaceRoute, useRoute } from '../base/route.ts'
import { useStore } from '../base/store.ts'
import { leaveFile, openFilePanel } from '../session-data/shown-file.ts'

/**
 * Keeps the panel and the address of a session page in step: an address with a file opens the panel with the files, and
 * closing that panel removes the file from the address.
 */
export function useFileInAddress(id: string): void {
  const route = useRoute()
  const isShown = route.name === 'session' && route.id === id && route.file !== undefined
  const panel = useStore(preferences, (state) => state.sidePanel)

  const wasShown = useRef<boolean>(undefined)
  useLayoutEffect(() => {
    if (isShown && !wasShown.current) openFilePanel({ takesFocus: wasShown.current !== undefined })
    if (!isShown && wasShown.current) leaveFile()
    wasShown.current = isShown
  }, [isShown])

  // When the session page is left, its file is closed.
  useLayoutEffect(() => () => void (wasShown.current && leaveFile()), [])

  const last = useRef(panel)
  useEffect(() => {
    const wasFiles = last.current === 'files'
    last.current = panel
    if (!wasFiles || panel === 'files' || !isShown) return
    // A panel that was closed removes its own entries from the browser's history.
    if (panel !== 'none' || panelDepth() === 0) replaceRoute({ name: 'session', id })
  }, [panel, isShown, id])
}
