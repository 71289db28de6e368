import { RefreshCw } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { visible } from '../base/format.logic.ts'
import { parentOf } from '../base/paths.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { useSessionId } from '../session-data/session-context.tsx'

const limit = 100
/** The pause in typing after which the search is sent to the server. */
const pauseMs = 80

type Found = { readonly query: string; readonly files: readonly string[]; readonly problem?: string }

type Props = {
  onOpen: (path: string) => void
  onRefresh: () => void
  /** Shown while nothing is typed. */
  children: ReactNode
}

/** Finds files by their name. The field keeps the focus and handles the keys. */
export function NameFilter({ onOpen, onRefresh, children }: Props) {
  const [query, setQuery] = useState('')
  const [place, setPlace] = useState(0)
  const found = useFound(query.trim())
  const id = useId()
  const files = found?.files ?? []
  const isOpen = query.trim() !== ''
  const open = (path: string | undefined) => path !== undefined && onOpen(path)
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || !isOpen) return
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) setPlace(Math.max(0, Math.min(files.length - 1, place + by)))
    else if (event.key === 'Enter') open(files[place])
    else if (event.key === 'Escape') setQuery('')
    else return
    event.preventDefault()
  }
  return (
    <>
      <div className="flex items-center gap-1 px-2 py-1.5">
        <input
          type="search"
          role="combobox"
          aria-label="Find a file by its name"
          placeholder="Find a file"
          aria-expanded={isOpen}
          aria-controls={isOpen ? `${id}-list` : undefined}
          aria-activedescendant={files.length > 0 ? `${id}-${place}` : undefined}
          autoComplete="off"
          spellCheck={false}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value)
            setPlace(0)
          }}
          onKeyDown={press}
          className="field flex-1 pointer-coarse:min-h-11"
        />
        <IconButton label="Reload the folder" onClick={onRefresh}>
          <RefreshCw size={14} />
        </IconButton>
      </div>
      {!isOpen && children}
      {isOpen && (
        <div className="min-h-0 flex-1 overflow-y-auto">
          <p role="status" className="px-4 py-1 text-xs text-soft">
            {noteOf(found)}
          </p>
          <div id={`${id}-list`} role="listbox" aria-label="Found files" className="pb-2">
            {files.map((path, index) => (
              <FoundFile
                key={path}
                id={`${id}-${index}`}
                path={path}
                isActive={index === place}
                onOpen={() => onOpen(path)}
              />
            ))}
          </div>
        </div>
      )}
    </>
  )
}

function noteOf(found: Found | undefined): string {
  if (!found) return 'Searching…'
  if (found.problem !== undefined) return found.problem
  if (found.files.length === 0)
    return 'No file name contains this text. Files that git ignores are not searched.'
  return found.files.length === limit ? `The first ${limit} files` : ''
}

type FoundFileProps = { id: string; path: string; isActive: boolean; onOpen: () => void }

function FoundFile({ id, path, isActive, onOpen }: FoundFileProps) {
  const folder = parentOf(path)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
    <div
      id={id}
      // The field has the focus.
      tabIndex={-1}
      ref={(element) => void (isActive && element?.scrollIntoView({ block: 'nearest' }))}
      role="option"
      aria-selected={isActive}
      title={visible(path)}
      onClick={onOpen}
      className={`flex min-h-7 cursor-pointer items-baseline gap-2 px-4 py-1 text-sm pointer-coarse:min-h-11 pointer-coarse:items-center ${isActive ? 'bg-hover' : 'hover:bg-hover'}`}
    >
      <span className="max-w-full shrink-0 truncate">
        {visible(path.slice(folder === '' ? 0 : folder.length + 1))}
      </span>
      <span className="min-w-0 truncate text-xs text-faint">{visible(folder)}</span>
    </div>
  )
}

/** The files that match, best first. The previous matches are shown until the new ones arrive. */
function useFound(query: string): Found | undefined {
  const id = useSessionId()
  const [found, setFound] = useState<Found>()
  useEffect(() => {
    if (query === '') return setFound(undefined)
    const controller = new AbortController()
    const { signal } = controller
    const ask = () =>
      client.call('findFiles', { params: { id }, query: { q: query, limit }, signal }).then(
        ({ files }) => setFound({ query, files }),
        (thrown) => signal.aborted || setFound({ query, files: [], problem: errorText(thrown) }),
      )
    const timer = setTimeout(() => void ask(), pauseMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [id, query])
  return found
}
