import { type Prompt, promptText } from '@parley/protocol'
import { ArrowUp, ListOrdered, Pencil, X } from 'lucide-react'
import { client } from '../page/client.ts'
import { toastError } from '../page/toasts.tsx'
import { visible } from '../page/words.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { useSessionId } from '../session/session-context.tsx'
import { putBack } from './draft.ts'
import { focusPrompt } from './focus-prompt.ts'

export default function QueuedPrompt({
  prompt,
  place,
  queue,
}: {
  prompt: Prompt
  place: number
  queue: readonly Prompt[]
}) {
  const above = queue[place - 2]
  const sessionId = useSessionId()
  const text = promptText(prompt.parts)
  const withdraw = () => client.withdraw(sessionId, prompt.promptId)
  const edit = async () => {
    try {
      await withdraw()
      const followers = queue.slice(place).map(({ promptId }) => promptId)
      putBack(sessionId, prompt.parts, followers)
      focusPrompt()
    } catch (thrown) {
      toastError(thrown)
    }
  }
  return (
    <li className="flex shrink-0 items-center gap-2 rounded-lg border border-line bg-side py-0.5 pr-1 pl-2.5 text-sm">
      <ListOrdered size={14} aria-hidden className="shrink-0 text-faint" />
      <span className="shrink-0 text-xs text-faint">{place === 1 ? 'Next' : `${place}.`}</span>
      <span className="min-w-0 flex-1 truncate">{visible(text)}</span>
      {above && (
        <IconButton
          label={`Run queued prompt ${place} earlier`}
          onClick={() =>
            void client.move(sessionId, prompt.promptId, { before: above.promptId }).catch(toastError)
          }
        >
          <ArrowUp size={14} />
        </IconButton>
      )}
      <IconButton label={`Edit queued prompt ${place}`} onClick={() => void edit()}>
        <Pencil size={13} />
      </IconButton>
      <IconButton label={`Withdraw queued prompt ${place}`} onClick={() => void withdraw().catch(toastError)}>
        <X size={14} />
      </IconButton>
    </li>
  )
}
