import type { ISearchOptions, SearchAddon } from '@xterm/addon-search'
import { type RefObject, useEffect, useState } from 'react'
import { FindBar } from '../parts/find-bar.tsx'

/** Colours for a dark background: a terminal is dark in both themes. */
const look: ISearchOptions = {
  decorations: {
    matchBackground: '#5c4a12',
    activeMatchBackground: '#a87a12',
    matchOverviewRuler: '#f0b552',
    activeMatchColorOverviewRuler: '#ffb938',
  },
}

type Props = { search: RefObject<SearchAddon | null>; onClose: () => void }

/** Searches the whole buffer of a terminal, including its scrollback. */
export function FindInTerminal({ search, onClose }: Props) {
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
  const { resultIndex, resultCount } = found
  return (
    <FindBar
      label="Find in the terminal"
      placeholder="Find in the terminal"
      query={query}
      count={resultCount}
      position={positionText(resultIndex, resultCount)}
      onQuery={type}
      onStep={(by) => (by < 0 ? before() : next())}
      onClose={onClose}
      className="bg-side"
    />
  )
}

/**
 * The position of the current match, such as "3 of 12". With very many matches the position is unknown, and
 * only their number is shown.
 */
function positionText(index: number, count: number): string {
  return index < 0 ? `${count}+` : `${index + 1} of ${count}`
}
