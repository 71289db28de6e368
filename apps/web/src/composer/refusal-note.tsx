import { CircleAlert, X } from 'lucide-react'
import { useStore } from '../base/store.ts'
import { IconButton } from '../parts/button.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId } from '../session-data/session-context.tsx'

/** Shows why a prompt was refused and put back into the composer. */
export function RefusalNote() {
  const { refusal } = draftOf(useSessionId())
  const why = useStore(refusal)
  return (
    <div role="alert">
      {why !== undefined && (
        <p className="flex items-start gap-2 border-b border-line py-1 pr-1 pl-3 text-sm text-bad">
          <CircleAlert size={15} aria-hidden className="mt-1.5 shrink-0" />
          <span className="max-h-24 min-w-0 flex-1 overflow-y-auto py-1 [overflow-wrap:anywhere]">
            Not sent: {why}
          </span>
          <IconButton label="Dismiss" onClick={() => refusal.set(undefined)}>
            <X size={14} />
          </IconButton>
        </p>
      )}
    </div>
  )
}
