import type { TurnEnd } from '@parley/protocol'
import { RotateCcw } from 'lucide-react'
import { client } from '../base/client.ts'
import { visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { promptOfTurn, rewoundTo } from './turn-end.logic.ts'

/** The restored files, with an undo button as long as it is the latest turn. */
export function RewoundTurn({ turnId, end }: { turnId: string | undefined; end: TurnEnd }) {
  const sessionId = useSessionId()
  const isLatest = useSessionState(({ turn, lastTurn }) => !turn && lastTurn?.turnId === turnId)
  const promptId = useSnapshot(({ view }) => rewoundTo(promptOfTurn(view.timeline, turnId)?.parts ?? []))
  const undo = () =>
    promptId !== undefined &&
    void client.command(sessionId, { type: 'session.rewind', promptId, undo: true }).catch(toastError)
  const hasChanged = end.stopReason === 'rewound' && promptId !== undefined
  return (
    <div className="my-1 flex flex-wrap items-center gap-2 px-1.5 text-sm text-soft">
      <RotateCcw size={14} aria-hidden className="shrink-0" />
      <span className="min-w-0 [overflow-wrap:anywhere]">{visible(end.result ?? '')}</span>
      {isLatest && hasChanged && <Button onClick={undo}>Undo</Button>}
    </div>
  )
}
