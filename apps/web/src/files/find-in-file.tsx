import { ChevronDown, ChevronUp, X } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { IconButton } from '../parts/button.tsx'
import { lineNamed, maxMatches } from './rows.logic.ts'

type Props = {
  query: string
  count: number
  /** The index of the current match. */
  place: number
  onQuery: (query: string) => void
  onStep: (by: number) => void
  onLine: (line: number) => void
  onClose: () => void
}

/** Finds a text in the file, or goes to a line. */
export function FindInFile({ query, count, place, onQuery, onStep, onLine, onClose }: Props) {
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      onClose()
    }
    if (event.key !== 'Enter') return
    event.preventDefault()
    const line = lineNamed(query)
    if (line !== undefined) onLine(line)
    else onStep(event.shiftKey ? -1 : 1)
  }
  return (
    <search className="flex items-center gap-0.5 border-b border-line px-2 py-1">
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person opened the search
        autoFocus
        aria-label="Find in the file, or go to a line such as :120"
        placeholder="Find, or :120 for a line"
        value={query}
        className="field min-w-0 flex-1 pointer-coarse:min-h-11"
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={press}
      />
      <span role="status" className="min-w-16 shrink-0 px-1 text-center text-xs text-soft tabular-nums">
        {query === '' || query.startsWith(':') ? '' : countLabel(place, count)}
      </span>
      <IconButton label="Previous match" disabled={count === 0} onClick={() => onStep(-1)}>
        <ChevronUp size={15} />
      </IconButton>
      <IconButton label="Next match" disabled={count === 0} onClick={() => onStep(1)}>
        <ChevronDown size={15} />
      </IconButton>
      <IconButton label="Close find" onClick={onClose}>
        <X size={15} />
      </IconButton>
    </search>
  )
}

function countLabel(place: number, count: number): string {
  if (count === 0) return 'No results'
  return `${place + 1} of ${count}${count === maxMatches ? '+' : ''}`
}
