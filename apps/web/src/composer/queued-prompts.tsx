import { type Prompt, pausedPrompts, promptText } from '@parley/protocol'
import { ArrowUp, CornerDownRight, ListOrdered, Pause, Pencil, Play, X } from 'lucide-react'
import { useEffect } from 'react'
import { otherActorText } from '../base/actor-text.logic.ts'
import { client } from '../base/client.ts'
import { focusPrompt } from '../base/focus.ts'
import { plural, visible } from '../base/format.logic.ts'
import { useMay, useSelf } from '../base/self.ts'
import { announce } from '../parts/announcer.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { toastError } from '../parts/toasts.tsx'
import type { QueuePlace } from '../session-data/prompt-draft.ts'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'

type Props = { queue: readonly Prompt[]; steers: readonly Prompt[] }

/**
 * The prompts that wait at the server: steered prompts until the agent accepts them, then the queue in the
 * order in which it will run. Paused prompts come last.
 */
export default function QueuedPrompts({ queue, steers }: Props) {
  const paused = pausedPrompts({ queue })
  return (
    <>
      {steers.map((prompt) => (
        <PendingSteer key={prompt.promptId} prompt={prompt} />
      ))}
      {paused > 0 && <PausedRow count={paused} />}
      {queue.map((prompt, index) => (
        <QueuedPrompt key={prompt.promptId} prompt={prompt} place={index + 1} queue={queue} />
      ))}
    </>
  )
}

function PausedRow({ count }: { count: number }) {
  const sessionId = useSessionId()
  const isRunning = useSessionState(({ turn }) => turn !== undefined && !turn.interrupted)
  const prompts = useMay('prompt')
  const label = `${isRunning ? '' : 'Stopped. '}${plural(count, 'prompt')} paused.`
  // biome-ignore lint/correctness/useExhaustiveDependencies: announced once, not again when a prompt is withdrawn
  useEffect(() => announce(label), [])
  return (
    <li className="sticky top-0 z-10 flex shrink-0 items-center gap-2 rounded-lg border border-wait-fill bg-card py-0.5 pr-1 pl-2.5 text-sm">
      <Pause size={14} aria-hidden className="shrink-0 text-wait" />
      <span className="min-w-0 flex-1">{label}</span>
      {prompts && (
        <Button
          look="quiet"
          className="text-mark!"
          onClick={() => void client.resumeQueue(sessionId).catch(toastError)}
        >
          <Play size={13} aria-hidden /> Resume
        </Button>
      )}
    </li>
  )
}

/**
 * A steered prompt that the agent has not accepted yet. It enters the timeline when the agent accepts it, which may be
 * long after it was sent.
 */
function PendingSteer({ prompt }: { prompt: Prompt }) {
  return (
    <li
      data-testid="pending-steer"
      className="flex shrink-0 items-center gap-2 rounded-lg border border-dashed border-mark bg-side py-0.5 pr-1 pl-2.5 text-sm"
    >
      <CornerDownRight size={14} aria-hidden className="breathe shrink-0 text-mark" />
      <span className="shrink-0 text-xs text-mark">Steering, not read yet</span>
      <PromptWords prompt={prompt} />
      <PromptActions prompt={prompt} name="steered prompt" place={{ followers: [], paused: false }} />
    </li>
  )
}

function QueuedPrompt({ prompt, place, queue }: { prompt: Prompt; place: number; queue: readonly Prompt[] }) {
  const above = queue[place - 2]
  const prompts = useMay('prompt')
  const sessionId = useSessionId()
  const Icon = prompt.paused ? Pause : ListOrdered
  const followers = queue.slice(place).map(({ promptId }) => promptId)
  return (
    <li
      className={`flex shrink-0 items-center gap-2 rounded-lg border border-line bg-side py-0.5 pr-1 pl-2.5 text-sm ${prompt.paused ? 'text-soft' : ''}`}
    >
      <Icon size={14} aria-hidden className="shrink-0 text-faint" />
      <span className="shrink-0 text-xs text-faint">{labelOf(prompt, place)}</span>
      <PromptWords prompt={prompt} />
      {prompts && above && above.paused === prompt.paused && (
        <IconButton
          label={`Move queued prompt ${place} up`}
          onClick={() =>
            void client.move(sessionId, prompt.promptId, { before: above.promptId }).catch(toastError)
          }
        >
          <ArrowUp size={14} />
        </IconButton>
      )}
      <PromptActions
        prompt={prompt}
        name={`queued prompt ${place}`}
        place={{ followers, paused: prompt.paused ?? false }}
      />
    </li>
  )
}

/** The text of a prompt, and its sender if somebody else sent it. */
function PromptWords({ prompt }: { prompt: Prompt }) {
  const other = otherActorText(prompt.actor, useSelf())
  return (
    <span className="min-w-0 flex-1 truncate">
      {other !== undefined && <span className="text-xs text-soft">{other}: </span>}
      {visible(promptText(prompt.parts))}
    </span>
  )
}

/** The buttons that edit and withdraw a waiting prompt. An edited prompt returns to its place in the queue. */
function PromptActions({ prompt, name, place }: { prompt: Prompt; name: string; place: QueuePlace }) {
  const sessionId = useSessionId()
  const withdraw = () => client.withdraw(sessionId, prompt.promptId)
  const prompts = useMay('prompt')
  const edit = async () => {
    await withdraw()
    draftOf(sessionId).putBack(prompt.parts, place)
    focusPrompt()
  }
  if (!prompts) return null
  return (
    <>
      <IconButton label={`Edit ${name}`} onClick={() => void edit().catch(toastError)}>
        <Pencil size={13} />
      </IconButton>
      <IconButton label={`Withdraw ${name}`} onClick={() => void withdraw().catch(toastError)}>
        <X size={14} />
      </IconButton>
    </>
  )
}

function labelOf({ paused }: Prompt, place: number): string {
  if (paused) return 'Paused'
  return place === 1 ? 'Next' : `${place}.`
}
