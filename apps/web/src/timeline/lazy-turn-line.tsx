import type { ComponentProps } from 'react'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'

const parts = lazyPart(() => import('./turn-parts.ts'))

/** Fetches the code of turn lines ahead of time, so that the first one does not shift the layout. */
export const fetchTurnLines = () => parts.fetch()

type Parts = typeof import('./turn-parts.ts').default

/** A collapsed turn. Its row already has its final height while the code is loading. */
export function LazyCollapsedTurn(props: ComponentProps<Parts['CollapsedTurn']>) {
  return (
    <div className="min-h-9 pointer-coarse:min-h-11">
      <Lazy part={parts}>{({ CollapsedTurn }) => <CollapsedTurn {...props} />}</Lazy>
    </div>
  )
}

/** The line of the turn that is in view. */
export function LazyCurrentTurn(props: ComponentProps<Parts['CurrentTurn']>) {
  return <Lazy part={parts}>{({ CurrentTurn }) => <CurrentTurn {...props} />}</Lazy>
}
