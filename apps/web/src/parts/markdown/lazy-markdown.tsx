import { memo, useEffect } from 'react'
import { useStore } from '../../base/store.ts'
import { lazyPart } from '../lazy-part.tsx'

const renderer = lazyPart(() => import('./markdown.tsx'))

/** Fetches the renderer once. If that fails, e.g. offline, the text is shown unformatted. */
export const fetchMarkdown = () => renderer.fetch()

type Props = { text: string; done?: boolean }

/** Markdown, or its plain text until the renderer is loaded. */
export const LazyMarkdown = memo(function LazyMarkdown({ text, done = true }: Props) {
  useEffect(fetchMarkdown, [])
  const { shown: Markdown } = useStore(renderer.loaded)
  if (Markdown) return <Markdown text={text} done={done} />
  return <div className="[overflow-wrap:anywhere] whitespace-pre-wrap">{text}</div>
})
