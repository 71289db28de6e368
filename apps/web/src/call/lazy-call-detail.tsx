import type { ComponentProps } from 'react'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'

const detail = lazyPart(() => import('./call-detail.tsx'))

/** Fetches the code of expanded calls ahead of time, so that the first one does not shift the layout. */
export const fetchCallDetails = () => detail.fetch()

type Parts = typeof import('./call-detail.tsx').default

export function LazyCallDetail(props: ComponentProps<Parts['CallDetail']>) {
  return <Lazy part={detail}>{({ CallDetail }) => <CallDetail {...props} />}</Lazy>
}

export function LazyTerminalText(props: ComponentProps<Parts['TerminalText']>) {
  return <Lazy part={detail}>{({ TerminalText }) => <TerminalText {...props} />}</Lazy>
}
