import { type Prompt, promptText } from '@parley/protocol'
import { CloudOff, CornerDownRight, Send, X } from 'lucide-react'
import { useConnection } from '../base/client.ts'
import { plural, visible } from '../base/format.logic.ts'
import { IconButton } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import type { OutgoingPrompt } from '../session-data/prompt-outbox.ts'
import { prompts, useOutgoingPrompts } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'

const queuedPrompts = lazyPart(() => import('./queued-prompts.tsx'))

const none: readonly Prompt[] = []

/** The queued prompts. Each can be moved up, withdrawn, or withdrawn for editing. */
export function Queue() {
  const sessionId = useSessionId()
  const queue = useSessionState((state) => state.queue)
  const steers = useSessionState((state) => state.turn?.steers ?? none)
  const outgoing = useOutgoingPrompts(sessionId)
  const waits = queue.length + steers.length > 0
  if (!waits && outgoing.length === 0) return null
  return (
    <ul
      aria-label="Queue"
      className="mb-2 flex max-h-40 shrink-0 flex-col gap-1 overflow-y-auto px-1 max-md:max-h-28"
    >
      {waits && (
        <Lazy part={queuedPrompts} frame={(inside) => <li>{inside}</li>}>
          {(QueuedPrompts) => <QueuedPrompts queue={queue} steers={steers} />}
        </Lazy>
      )}
      {outgoing.map((prompt) => (
        <OutgoingRow key={prompt.commandId} prompt={prompt} />
      ))}
    </ul>
  )
}

function OutgoingRow({ prompt }: { prompt: OutgoingPrompt }) {
  const connected = useConnection().state === 'open'
  const Icon = !connected ? CloudOff : prompt.delivery === 'steer' ? CornerDownRight : Send
  return (
    <li
      className="flex shrink-0 items-center gap-2 rounded-lg border border-dashed border-edge py-0.5 pr-1 pl-2.5 text-sm text-soft"
      data-testid="outgoing"
    >
      <Icon size={14} aria-hidden className={`shrink-0 ${connected ? 'breathe' : ''}`} />
      <span className="shrink-0 text-xs">{connected ? 'Sending' : 'Not sent yet: no connection'}</span>
      <span className="min-w-0 flex-1 truncate">{visible(promptText([...prompt.textParts]))}</span>
      {prompt.attachmentCount > 0 && (
        <span className="shrink-0 text-xs">{plural(prompt.attachmentCount, 'attachment')}</span>
      )}
      <IconButton label="Withdraw unsent prompt" onClick={() => prompts.withdraw(prompt.commandId)}>
        <X size={14} />
      </IconButton>
    </li>
  )
}
