import { ArrowRightLeft } from 'lucide-react'
import { useMatchesFind } from '../base/find-text.ts'
import { amount, visible } from '../base/format.logic.ts'
import { Link } from '../parts/link.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { useSessionId } from '../session-data/session-context.tsx'
import { useAllSessions } from '../session-data/session-list.ts'
import type { HandOffPart } from './prompt-text.logic.ts'

/** The hand-off that the agent got: the earlier session and the size of the text. A button shows the text. */
export function HandOffCard({ part: { text = '', handOff } }: { part: HandOffPart }) {
  const here = useSessionId()
  const title = useAllSessions().sessions.find(({ id }) => id === handOff)?.title
  const isWanted = useMatchesFind(text)
  return (
    <div className="w-full min-w-0 rounded-lg border border-line bg-card text-sm" data-testid="hand-off">
      <p className="flex items-center gap-2 px-3 pt-2">
        <ArrowRightLeft size={14} aria-hidden className="shrink-0 text-soft" />
        <span className="min-w-0 [overflow-wrap:anywhere]">
          {handOff === here ? (
            'The conversation before this prompt'
          ) : (
            <>
              Handed over from{' '}
              <Link to={{ name: 'session', id: handOff }} className="text-mark underline">
                {visible(title || 'an earlier session')}
              </Link>
            </>
          )}
        </span>
      </p>
      <details open={isWanted} className="px-3 pb-1 text-xs text-soft">
        <summary className="w-fit rounded py-1 hover:text-ink pointer-coarse:py-3.5">
          {amount(text.length)} characters
        </summary>
        <ScrollRegion label="Hand-off" className="max-h-96 overflow-y-auto pb-2">
          <pre className="whitespace-pre-wrap font-sans text-sm [overflow-wrap:anywhere]">
            {visible(text)}
          </pre>
        </ScrollRegion>
      </details>
    </div>
  )
}
