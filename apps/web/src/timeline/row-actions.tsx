import { useEffect, useRef, useState } from 'react'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import type { RowActionsProps } from './message-actions.tsx'

const messageActions = lazyPart(() => import('./message-actions.tsx'))

/** Fetches the code of the actions ahead of time. */
export const fetchMessageActions = () => messageActions.fetch()

/**
 * The actions of a message. They are not rendered before the pointer or the focus first reaches the row. On
 * touch devices they are on a separate line.
 */
export function RowActions(props: RowActionsProps) {
  const [near, setNear] = useState(false)
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const row = place.current?.closest('article')
    const come = () => setNear(true)
    const ways = ['pointerenter', 'focusin']
    for (const way of ways) row?.addEventListener(way, come)
    return () => {
      for (const way of ways) row?.removeEventListener(way, come)
    }
  }, [])
  if (!near) return <span ref={place} hidden />
  return <Lazy part={messageActions}>{(MessageActions) => <MessageActions {...props} />}</Lazy>
}
