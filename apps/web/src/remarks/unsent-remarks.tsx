import { plural } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { Button } from '../parts/button.tsx'
import { prompts } from '../session-data/prompts.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { remarksPrompt } from './remarks.logic.ts'
import { remarksOf } from './remarks.ts'

/** The number of remarks that are not sent, with the buttons that send or delete all of them. */
export function UnsentRemarks() {
  const sessionId = useSessionId()
  const store = remarksOf(sessionId)
  const { comments: remarks } = useStore(store)
  if (!useMay('prompt') || remarks.length === 0) return null
  const send = () => {
    prompts.submit({
      sessionId,
      delivery: 'queue',
      parts: [{ type: 'text', text: remarksPrompt(remarks) }],
    })
    store.set({ comments: [] })
  }
  return (
    <div className="flex items-center gap-2 border-t border-line bg-card px-4 py-2 text-sm">
      <span className="flex-1">{plural(remarks.length, 'remark')}</span>
      <Button look="quiet" onClick={() => store.set({ comments: [] })}>
        Delete
      </Button>
      <Button look="primary" onClick={send}>
        Send {plural(remarks.length, 'remark')}
      </Button>
    </div>
  )
}
