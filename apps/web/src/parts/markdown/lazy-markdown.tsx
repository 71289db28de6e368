import { memo, useEffect } from 'react'
import { createStore, useStore } from '../../base/store.ts'

type Renderer = typeof import('./markdown.tsx').default

/** Not `lazy`: React reveals suspended content a third of a second late. */
const loaded = createStore<{ readonly renderer?: Renderer }>({})
let fetching = false

/** Fetches the renderer once. If that fails, e.g. offline, the plain text stays. */
export function fetchMarkdown(): void {
  if (fetching) return
  fetching = true
  import('./markdown.tsx')
    .then((module) => loaded.set({ renderer: module.default }))
    .catch(() => {
      fetching = false
    })
}

type Props = { text: string; done?: boolean }

/** Markdown, or its plain text until the renderer is loaded. */
export const LazyMarkdown = memo(function LazyMarkdown({ text, done = true }: Props) {
  useEffect(fetchMarkdown, [])
  const { renderer: Markdown } = useStore(loaded)
  if (Markdown) return <Markdown text={text} done={done} />
  return <div className="[overflow-wrap:anywhere] whitespace-pre-wrap">{text}</div>
})
