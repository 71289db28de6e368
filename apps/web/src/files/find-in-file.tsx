import { FindBar } from '../parts/find-bar.tsx'
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
export function FindInFile({ place, onLine, ...bar }: Props) {
  const { query, count } = bar
  const line = lineNamed(query)
  return (
    <FindBar
      {...bar}
      label="Find in the file, or go to a line such as :120"
      placeholder="Find, or :120 for a line"
      position={`${place + 1} of ${count}${count === maxMatches ? '+' : ''}`}
      isSearch={query !== '' && !query.trim().startsWith(':')}
      onEnter={() => line !== undefined && onLine(line)}
    />
  )
}
