import { useCallback, useMemo, useState } from 'react'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import type { Opened } from './rows.logic.ts'

/** Which nodes are expanded: the person's choices in this session override the preference to expand all. */
export function useOpened(): { opened: Opened; toggle: (key: string, open: boolean) => void } {
  const [by, setBy] = useState<ReadonlyMap<string, boolean>>(new Map())
  const all = useStore(preferences, (state) => state.expandAll)
  const toggle = useCallback((key: string, open: boolean) => {
    setBy((before) => (before.get(key) === open ? before : new Map(before).set(key, open)))
  }, [])
  const opened = useMemo(() => ({ by, all }), [by, all])
  return { opened, toggle }
}
