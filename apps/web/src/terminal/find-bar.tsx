import type { ISearchOptions, SearchAddon } from '@xterm/addon-search'
import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { type KeyboardEvent, type RefObject, useEffect, useState } from 'react'
import { IconButton } from '../parts/button.tsx'

/** Colours for a dark background: a terminal is dark in both themes. */
const look: ISearchOptions = {
  decorations: {
    matchBackground: '#5c4a12',
    activeMatchBackground: '#a87a12',
    matchOverviewRuler: '#f0b552',
    activeMatchColorOverviewRuler: '#ffb938',
  },
}

/** Searches the whole buffer of a terminal, including its scrollback. */
export function FindBar({ search, onClose }: { search: RefObject<SearchAddon | null>; onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [found, setFound] = useState({ resultIndex: -1, resultCount: 0 })
  useEffect(() => {
    const subscription = search.current?.onDidChangeResults(setFound)
    const finder = search.current
    return () => {
      subscription?.dispose()
      finder?.clearDecorations()
    }
  }, [search])
  const next = () => search.current?.findNext(query, look)
  const before = () => search.current?.findPrevious(query, look)
  const type = (text: string) => {
    setQuery(text)
    if (text === '') search.current?.clearDecorations()
    else search.current?.findNext(text, { ...look, incremental: true })
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose()
    if (event.key !== 'Enter') return
    if (event.shiftKey) before()
    else next()
  }
  const { resultIndex, resultCount } = found
  return (
    <search className="flex items-center gap-0.5 border-b border-line bg-side px-2 py-1">
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person opened the search
        autoFocus
        aria-label="Find in the terminal"
        placeholder="Find in the terminal"
        value={query}
        className="field min-w-0 flex-1 pointer-coarse:min-h-11"
        onChange={(event) => type(event.target.value)}
        onKeyDown={press}
      />
      <span role="status" className="min-w-16 shrink-0 px-1 text-center text-xs text-soft tabular-nums">
        {query === '' ? '' : resultCount === 0 ? 'No results' : countLabel(resultIndex, resultCount)}
      </span>
      <IconButton label="Previous match" disabled={resultCount === 0} onClick={before}>
        <ChevronUp size={15} />
      </IconButton>
      <IconButton label="Next match" disabled={resultCount === 0} onClick={next}>
        <ChevronDown size={15} />
      </IconButton>
      <IconButton label="Close find" onClick={onClose}>
        <X size={15} />
      </IconButton>
    </search>
  )
}

/**
 * The position of the current match, such as "3 of 12". With very many matches the position is unknown, and
 * only their number is shown.
 */
function countLabel(index: number, count: number): string {
  return index < 0 ? `${count}+` : `${index + 1} of ${count}`
}
