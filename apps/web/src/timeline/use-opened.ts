import { useCallback, useMemo, useState } from 'react'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'
import { chooseTurn, turnChoices } from '../session-data/collapsed-turns.ts'
import { useSessionId, useSnapshot } from '../session-data/session-context.tsx'
import type { Segment } from './nodes.logic.ts'
import type { Opened } from './rows.logic.ts'
import { oldBefore } from './turn.logic.ts'

/**
 * The expanded nodes and turns. The person's choices override the preferences. Choices for turns are stored;
 * choices for steps last until the session is left.
 */
export function useOpened(segments: readonly Segment[]) {
  const id = useSessionId()
  const [steps, setSteps] = useState<ReadonlyMap<string, boolean>>(new Map())
  const turns = useStore(turnChoices, (state) => state[id])
  const all = useStore(preferences, (state) => state.expandAll)
  const turnsFrom = useOldTurns(segments)
  const toggle = useCallback(
    (key: string, open: boolean) => {
      if (!key.startsWith('turn:')) {
        setSteps((before) => (before.get(key) === open ? before : new Map(before).set(key, open)))
      } else if ((turnChoices.get()[id]?.[key] ?? turnsFrom === 0) !== open) chooseTurn(id, key, open)
    },
    [id, turnsFrom],
  )
  const opened = useMemo<Opened>(() => {
    const by = turns ? new Map([...steps, ...Object.entries(turns)]) : steps
    return { by, all, turnsFrom }
  }, [steps, turns, all, turnsFrom])
  return { opened, toggle }
}

/**
 * The `seq` before which turns are collapsed. It is determined when the session is opened: a turn that becomes old
 * while the person reads it is not collapsed.
 */
function useOldTurns(segments: readonly Segment[]): number {
  const wanted = useStore(preferences, (state) => state.collapseTurns)
  const isLive = useSnapshot(({ status }) => status === 'live')
  // biome-ignore lint/correctness/useExhaustiveDependencies: computed once, not for each new turn
  return useMemo(() => (wanted ? oldBefore(segments) : 0), [wanted, isLive])
}
