import { useNow } from '../base/clock.ts'
import { Link } from '../parts/link.tsx'
import { rememberHit, routeOfHit } from '../session-data/found-text.ts'
import { useTextSearch } from '../session-data/text-search.ts'
import { HitText } from './hit-text.tsx'
import { searchNote } from './search-note.logic.ts'

/** The messages that contain the typed words, below the sessions whose titles match. */
export default function FoundMessages({ typed }: { typed: string }) {
  const search = useTextSearch(typed)
  const now = useNow()
  const { hits } = search
  const note = searchNote(search)
  if (hits.length === 0 && note === undefined) return null
  return (
    <section aria-label="In conversations">
      <h2 className="px-2.5 pt-2.5 pb-1 text-xs font-semibold text-soft">In conversations</h2>
      <ul>
        {hits.map((hit) => (
          <li key={`${hit.session.id} ${hit.seq}`} data-hit className="rounded-md hover:bg-hover/60">
            <Link
              to={routeOfHit(hit)}
              onClick={() => rememberHit(hit)}
              className="flex rounded-md py-1.5 pr-2 pl-1 pointer-coarse:min-h-11 pointer-coarse:py-2.5"
            >
              <HitText hit={hit} now={now} />
            </Link>
          </li>
        ))}
      </ul>
      {note !== undefined && (
        <p role="status" className="px-2.5 py-1.5 text-xs text-soft">
          {note}
        </p>
      )}
    </section>
  )
}
