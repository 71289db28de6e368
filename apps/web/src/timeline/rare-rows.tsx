import type { BlockOf } from '@parley/protocol'
import { ArrowRightLeft, FoldVertical } from 'lucide-react'
import { memo } from 'react'
import { useAgentName } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useMatchesFind } from '../base/find-text.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { asJson } from '../call/call-text.logic.ts'
import { Button } from '../parts/button.tsx'
import { Link } from '../parts/link.tsx'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { HandOffCard } from './hand-off-card.tsx'

/** Links to the session that continues the work. */
function HandedOver({
  leadsTo: { sessionId, agent },
}: {
  leadsTo: NonNullable<BlockOf<'notice'>['leadsTo']>
}) {
  const name = useAgentName(agent)
  return (
    <p className="flex items-center gap-2 px-1.5 py-0.5 text-sm text-soft">
      <ArrowRightLeft size={14} aria-hidden className="shrink-0" />
      <span className="[overflow-wrap:anywhere]">
        Handed over to{' '}
        <Link
          to={{ name: 'session', id: sessionId }}
          className="text-mark underline pointer-coarse:inline-flex pointer-coarse:min-h-11 pointer-coarse:items-center"
        >
          {visible(name)}
        </Link>
      </span>
    </p>
  )
}

/** The button that undoes a rewind. It is shown until the rewind is undone or a turn starts. */
function UndoRewind({ seq }: { seq: number }) {
  const sessionId = useSessionId()
  const isLast = useSessionState((state) => state.rewound?.seq === seq)
  if (!useMay('decide') || !isLast) return null
  const undo = () => void client.command(sessionId, { type: 'session.unrewind' }).catch(toastError)
  return <Button onClick={undo}>Undo</Button>
}

/** A divider: the agent has only a summary of everything above it. */
function Compaction({ text }: { text: string }) {
  const [notice = '', ...summary] = text.split('\n\n')
  const isWanted = useMatchesFind(text)
  return (
    <div className="py-2 text-xs text-soft">
      <p className="flex items-center gap-2.5 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        <FoldVertical size={13} aria-hidden className="shrink-0" />
        {notice}
      </p>
      {summary.length > 0 && (
        <details open={isWanted}>
          <summary className="mx-auto w-fit rounded hover:text-ink pointer-coarse:py-3.5">
            Show the summary
          </summary>
          <div className="pt-1 text-sm">
            <LazyMarkdown text={summary.join('\n\n')} />
          </div>
        </details>
      )}
    </div>
  )
}

const UnrecognisedRow = memo(function UnrecognisedRow({ block }: { block: BlockOf<'unrecognised'> }) {
  return (
    <details className="px-1.5 text-xs text-faint">
      <summary className="w-fit rounded py-1 hover:text-ink pointer-coarse:py-3.5">
        Unknown message, as the agent sent it
      </summary>
      <pre className="terminal mt-1 max-h-72 overflow-auto rounded-md bg-sunk px-2.5 py-2">
        {asJson(block.native).slice(0, 20_000)}
      </pre>
    </details>
  )
})

export default { HandedOver, UndoRewind, Compaction, UnrecognisedRow, HandOffCard }
