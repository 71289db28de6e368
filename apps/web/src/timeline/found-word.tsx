import { type RefObject, useMemo } from 'react'
import type { FoundWord as Found } from '../session-data/found-text.ts'
import { normalizedQuery } from './find.logic.ts'
import { useMarks, useSeek } from './find-marks.ts'

type Props = {
  found: Found
  rowKey: string
  showRow: (key: string) => void
  scroller: RefObject<HTMLElement | null>
}

/** Marks the word that a search found in a row, and scrolls to it, even inside a long output. */
export default function FoundWord({ found, rowKey, showRow, scroller }: Props) {
  const wanted = normalizedQuery(found.word)
  const { inResult } = found
  const hit = useMemo(() => ({ key: rowKey, nth: 0, inResult }), [rowKey, inResult])
  useMarks(wanted, hit)
  useSeek(hit, wanted, { showRow, scroller })
  return null
}
