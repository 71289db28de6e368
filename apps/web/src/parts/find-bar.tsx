import { ChevronDown, ChevronUp, X } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { IconButton } from './button.tsx'

type Props = {
  label: string
  placeholder: string
  query: string
  count: number
  /** The position of the current match, such as "3 of 12". Shown if there are matches. */
  position: string
  /** Whether a search runs for the query. */
  isSearch?: boolean
  onQuery: (query: string) => void
  onStep: (by: number) => void
  /** Called instead of `onStep` if no search runs for the query. */
  onEnter?: () => void
  onClose: () => void
  className?: string
}

/** The search bar at the top of a panel. */
export function FindBar(props: Props) {
  const { label, placeholder, query, count, position, isSearch = query !== '', className = '' } = props
  const { onQuery, onStep, onEnter, onClose } = props
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      onClose()
    }
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (!isSearch && onEnter) onEnter()
    else onStep(event.shiftKey ? -1 : 1)
  }
  return (
    <search className={`flex items-center gap-0.5 border-b border-line px-2 py-1 ${className}`}>
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person opened the search
        autoFocus
        aria-label={label}
        placeholder={placeholder}
        value={query}
        className="field min-w-0 flex-1 pointer-coarse:min-h-11"
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={press}
      />
      <span role="status" className="min-w-16 shrink-0 px-1 text-center text-xs text-soft tabular-nums">
        {!isSearch ? '' : count === 0 ? 'No results' : position}
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
