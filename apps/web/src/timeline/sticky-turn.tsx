import { ArrowUpToLine, ChevronDown } from 'lucide-react'
import { memo, useState } from 'react'
import { visible } from '../base/format.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import type { Turn } from './turn.logic.ts'
import { TurnFacts, TurnTitle, useTurnText } from './turn-line.tsx'

type Props = { turn: Turn; folder: string; onCollapse: (turn: Turn) => void; onStart: (turn: Turn) => void }

/**
 * The line of the turn that is in view, at the top of the conversation while the start of the turn is above
 * the view. The line can show the whole prompt.
 */
export const StickyTurn = memo(function StickyTurn({ turn, folder, onCollapse, onStart }: Props) {
  const [isWhole, setWhole] = useState(false)
  const text = useTurnText(turn)
  return (
    <div className="sticky top-0 z-5 h-0 [@media(height<24rem)]:hidden">
      <div className="mx-auto max-w-3xl px-4 max-md:px-3">
        {/* biome-ignore lint/a11y/useSemanticElements: the buttons are not fields of a form */}
        <div
          role="group"
          aria-label="Current turn"
          className="rounded-b-lg border border-t-0 border-line bg-side text-sm shadow-md"
        >
          <div className="flex min-h-9 items-center gap-1.5 px-1">
            {turn.end && (
              <IconButton label="Collapse this turn" onClick={() => onCollapse(turn)}>
                <ChevronDown size={14} />
              </IconButton>
            )}
            {text ? (
              <button
                type="button"
                aria-expanded={isWhole}
                title={isWhole ? 'Show one line' : 'Show the whole prompt'}
                onClick={() => setWhole(!isWhole)}
                className="flex min-h-8 min-w-0 flex-1 items-center rounded-md px-1 text-left hover:bg-hover/60 pointer-coarse:min-h-11"
              >
                <TurnTitle turn={turn} />
              </button>
            ) : (
              <span className="flex min-w-0 flex-1 px-1">
                <TurnTitle turn={turn} />
              </span>
            )}
            <TurnFacts turn={turn} folder={folder} />
            <IconButton label="Go to the start of this turn" onClick={() => onStart(turn)}>
              <ArrowUpToLine size={14} />
            </IconButton>
          </div>
          {isWhole && text && (
            <ScrollRegion
              label="Prompt of this turn"
              className="max-h-[40dvh] border-t border-line px-3 py-2 whitespace-pre-wrap [overflow-wrap:anywhere]"
            >
              {visible(text)}
            </ScrollRegion>
          )}
        </div>
      </div>
    </div>
  )
})
