import { type Prompt, promptText } from '@parley/protocol'
import { ArrowUp, CloudOff, CornerDownRight, ListOrdered, Pencil, Send, X } from 'lucide-react'
import { client, useConnection } from '../page/client.ts'
import { toastError } from '../page/toasts.tsx'
import { plural, visible } from '../page/words.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { useSessionId, useStatePart } from '../session/session-context.tsx'
import { putBack } from './draft.ts'
import { focusPrompt } from './focus-prompt.ts'
import { type Outgoing, takeBack, useOutgoing } from './outbox.ts'

/** What waits its turn: each can be put earlier, taken back, or taken back to be written anew. */
export function Queue() {
  const sessionId = useSessionId()
  const queue = useStatePart((state) => state.queue)
  const outgoing = useOutgoing(sessionId)
  if (queue.length === 0 && outgoing.length === 0) return null
  return (
    <ul
      aria-label="Queue"
      className="mb-2 flex max-h-40 shrink-0 flex-col gap-1 overflow-y-auto px-1 max-md:max-h-28"
    >
      {queue.map((prompt, index) => (
        <QueuedPrompt key={prompt.promptId} prompt={prompt} place={index + 1} above={queue[index - 1]} />
      ))}
      {outgoing.map((one) => (
        <OutgoingPrompt key={one.commandId} outgoing={one} />
      ))}
    </ul>
  )
}

function QueuedPrompt({
  prompt,
  place,
  above,
}: {
  prompt: Prompt
  place: number
  above: Prompt | undefined
}) {
  const sessionId = useSessionId()
  const text = promptText(prompt.parts)
  const withdraw = () => client.withdraw(sessionId, prompt.promptId)
  const edit = async () => {
    try {
      await withdraw()
      putBack(sessionId, prompt.parts)
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

function OutgoingPrompt({ outgoing }: { outgoing: Outgoing }) {
  const connected = useConnection().state === 'open'
  const Icon = !connected ? CloudOff : outgoing.delivery === 'steer' ? CornerDownRight : Send
  return (
    <li
      className="flex shrink-0 items-center gap-2 rounded-lg border border-dashed border-edge py-0.5 pr-1 pl-2.5 text-sm text-soft"
      data-testid="outgoing"
    >
      <Icon size={14} aria-hidden className={`shrink-0 ${connected ? 'breathe' : ''}`} />
      <span className="shrink-0 text-xs">{connected ? 'Sending' : 'Not sent yet: no connection'}</span>
      <span className="min-w-0 flex-1 truncate">{visible(promptText([...outgoing.words]))}</span>
      {outgoing.along > 0 && <span className="shrink-0 text-xs">{plural(outgoing.along, 'attachment')}</span>}
      <IconButton label="Do not send" onClick={() => takeBack(outgoing)}>
        <X size={14} />
      </IconButton>
    </li>
  )
}
