import type { ComponentProps } from 'react'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'

/** Rows that few sessions have. Their code is fetched when the first of them is shown. */
const rows = lazyPart(() => import('./rare-rows.tsx'))
type Rows = typeof import('./rare-rows.tsx').default

export function LazyHandedOver(props: ComponentProps<Rows['HandedOver']>) {
  return <Lazy part={rows}>{({ HandedOver }) => <HandedOver {...props} />}</Lazy>
}

export function LazyUndoRewind(props: ComponentProps<Rows['UndoRewind']>) {
  return <Lazy part={rows}>{({ UndoRewind }) => <UndoRewind {...props} />}</Lazy>
}

export function LazyCompaction(props: ComponentProps<Rows['Compaction']>) {
  return <Lazy part={rows}>{({ Compaction }) => <Compaction {...props} />}</Lazy>
}

export function LazyUnrecognisedRow(props: ComponentProps<Rows['UnrecognisedRow']>) {
  return <Lazy part={rows}>{({ UnrecognisedRow }) => <UnrecognisedRow {...props} />}</Lazy>
}

export function LazyHandOffCard(props: ComponentProps<Rows['HandOffCard']>) {
  return <Lazy part={rows}>{({ HandOffCard }) => <HandOffCard {...props} />}</Lazy>
}
