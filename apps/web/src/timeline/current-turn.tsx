import { useCallback } from 'react'
import { useSessionState } from '../session-data/session-context.tsx'
import type { Segment } from './nodes.logic.ts'
import type { Row } from './rows.logic.ts'
import { StickyTurn } from './sticky-turn.tsx'
import type { Turn } from './turn.logic.ts'
import { useTurnStart } from './use-turn-start.ts'

type Props = {
  /** The key of the turn at the top of the view, if its first row is above the view. */
  turnKey: string | undefined
  rows: readonly Row[]
  segments: readonly Segment[]
  toggle: (key: string, open: boolean) => void
  showRow: (key: string, align?: 'start') => void
}

/** The line of the turn that is in view. */
export function CurrentTurn({ turnKey, rows, segments, toggle, showRow }: Props) {
  const folder = useSessionState((state) => state.cwd)
  const toStart = useTurnStart(rows, showRow)
  const collapse = useCallback(
    (turn: Turn) => {
      toggle(turn.key, false)
      toStart(turn)
    },
    [toggle, toStart],
  )
  const turn = turnKey === undefined ? undefined : segments.findLast((one) => one.turn?.key === turnKey)?.turn
  if (!turn) return null
  return <StickyTurn key={turn.key} turn={turn} folder={folder} onCollapse={collapse} onStart={toStart} />
}
