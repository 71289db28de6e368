import { useLoadOlder } from '@parley/client/react'
import { useCallback, useEffect, useState } from 'react'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSnapshot } from '../session-data/session-context.tsx'
import type { Row } from './rows.logic.ts'
import type { Turn } from './turn.logic.ts'

/**
 * Returns a function that scrolls to the first row of a turn and moves the focus there. Older pages are loaded until
 * the turn is complete.
 */
export function useTurnStart(
  rows: readonly Row[],
  showRow: (key: string, align?: 'start') => void,
): (turn: Turn) => void {
  const [wanted, setWanted] = useState<{ readonly key: string }>()
  const loadOlder = useLoadOlder(useSessionId())
  const more = useSnapshot((snapshot) => !snapshot.atStart && snapshot.status === 'live')
  useEffect(() => {
    if (!wanted) return
    const row = rows.find(({ turn }) => turn?.key === wanted.key)
    if (row?.turn && !row.turn.head && !row.turn.isTakenBack && more) {
      loadOlder().catch((thrown: unknown) => {
        setWanted(undefined)
        toastError(thrown)
      })
      return
    }
    setWanted(undefined)
    if (!row) return
    showRow(row.key, 'start')
    focusRow(row.key)
  }, [wanted, rows, more, showRow, loadOlder])
  return useCallback(({ key }: Turn) => setWanted({ key }), [])
}

/** The maximum number of frames until a row is rendered. */
const maxFrames = 30

function focusRow(key: string, frame = 0): void {
  requestAnimationFrame(() => {
    const row = document.querySelector<HTMLElement>(`[role=feed] > article[data-key="${CSS.escape(key)}"]`)
    if (row) (row.querySelector<HTMLElement>('[data-turn]') ?? row).focus({ preventScroll: true })
    else if (frame < maxFrames) focusRow(key, frame + 1)
  })
}
