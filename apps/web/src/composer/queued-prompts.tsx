import { type Prompt, pausedPrompts, promptText } from '@parley/protocol'
import { ArrowUp, ListOrdered, Pause, Pencil, Play, X } from 'lucide-react'
import { useEffect } from 'react'
import { announce } from '../page/announcer.tsx'
import { client } from '../page/client.ts'
import { toastError } from '../page/toasts.tsx'
import { plural, visible } from '../page/words.logic.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { useSessionId, useStatePart } from '../session/session-context.tsx'
import { putBack } from './draft.ts'
import { focusPrompt } from './focus-prompt.ts'

/** The prompts that wait at the server, in the order in which they will run; paused ones come last. */
export default function QueuedPrompts({ queue }: { queue: readonly Prompt[] }) {
  const paused = pausedPrompts({ queue })
  return (
    <>
      {paused > 0 && <PausedRow count={paused} />}
      {queue.map((prompt, index) => (
        <QueuedPrompt key={prompt.promptId} prompt={prompt} place={index + 1} queue={queue} />
      ))}
    </>
  )
}

function PausedRow({ count }: { count: number }) {
  const sessionId = useSessionId()
  const isRunning = useStatePart(({ turn }) => turn !== undefined && !turn.interrupted)
  const words = `${isRunning ? '' : 'Stopped. '}${plural(count, 'prompt')} paused.`
  // biome-ignore lint/correctness/useExhaustiveDependencies: one that is withdrawn later is no news
  useEffect(() => announce(words), [])
  return (
    <li className="sticky top-0 z-10 flex shrink-0 items-center gap-2 rounded-lg border border-wait-fill bg-card py-0.5 pr-1 pl-2.5 text-sm">
      <Pause size={14} aria-hidden className="shrink-0 text-wait" />
      <span className="min-w-0 flex-1">{words}</span>
      <Button
        look="quiet"
        className="text-mark!"
        onClick={() => void client.resumeQueue(sessionId).catch(toastError)}
      >
        <Play size={13} aria-hidden /> Resume
      </Button>
    </li>
  )
}

function QueuedPrompt({ prompt, place, queue }: { prompt: Prompt; place: number; queue: readonly Prompt[] }) {
  const above = queue[place - 2]
  const sessionId = useSessionId()
  const text = promptText(prompt.parts)
  const Icon = prompt.paused ? Pause : ListOrdered
  const withdraw = () => client.withdraw(sessionId, prompt.promptId)
  const edit = async () => {
    try {
      await withdraw()
      const followers = queue.slice(place).map(({ promptId }) => promptId)
      putBack(sessionId, prompt.parts, { followers, paused: prompt.paused ?? false })
      focusPrompt()
    } catch (thrown) {
      toastError(thrown)
    }
  }
  return (
    <li
      className={`flex shrink-0 items-center gap-2 rounded-lg border border-line bg-side py-0.5 pr-1 pl-2.5 text-sm ${prompt.paused ? 'text-soft' : ''}`}
    >
      <Icon size={14} aria-hidden className="shrink-0 text-faint" />
      <span className="shrink-0 text-xs text-faint">{labelOf(prompt, place)}</span>
      <span className="min-w-0 flex-1 truncate">{visible(text)}</span>
      {above && above.paused === prompt.paused && (
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

function labelOf({ paused }: Prompt, place: number): string {
  if (paused) return 'Paused'
  return place === 1 ? 'Next' : `${place}.`
}
