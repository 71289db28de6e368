import { lazy, memo, Suspense } from 'react'

/** Where the renderer cannot be had, e.g. offline, words are still words. */
const Markdown = lazy(() => import('./markdown.tsx').catch(() => ({ default: Plain })))

function Plain({ text }: { text: string; done?: boolean }) {
  return <div className="[overflow-wrap:anywhere] whitespace-pre-wrap">{text}</div>
}

/** Fetches the renderer before it is needed, once the page itself is there. */
export function prefetchMarkdown(): void {
  const fetch = () => void import('./markdown.tsx').catch(() => {})
  if ('requestIdleCallback' in window) requestIdleCallback(fetch)
  else setTimeout(fetch, 200)
}

/** Markdown, or its plain text until the renderer is there. */
export const LazyMarkdown = memo(function LazyMarkdown({
  text,
  done = true,
}: {
  text: string
  done?: boolean
}) {
  return (
    <Suspense fallback={<Plain text={text} />}>
      <Markdown text={text} done={done} />
    </Suspense>
  )
})
