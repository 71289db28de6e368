import { type Block, type Delivery, pausedPrompts, promptText } from '@parley/protocol'
import { CircleAlert, X } from 'lucide-react'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useAgent } from '../base/agents.ts'
import { focusAtEnd, hasKeyboard } from '../base/focus.ts'
import { useStore } from '../base/store.ts'
import { IconButton } from '../parts/button.tsx'
import { promptParts } from '../session-data/attachment.logic.ts'
import { useAwaited } from '../session-data/awaited.ts'
import { draftOf, prompts } from '../session-data/prompts.ts'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { useStopTurn } from '../session-data/stop-turn.ts'
import { AttachmentChips, useAttachments } from './attachments.tsx'
import { ComposerBar } from './composer-bar.tsx'
import { DroppedFiles } from './dropped-files.tsx'
import { filesOfSession } from './files.ts'
import { PromptField } from './prompt-field.tsx'

/** The composer of a session. It subscribes only to the state it shows, so that streaming never slows typing. */
export function Composer() {
  const sessionId = useSessionId()
  const { text: draft, place } = draftOf(sessionId)
  // Subscribes only to whether the draft is empty, so that typing a letter renders only the field.
  const wordless = useStore(draft, (text) => text.trim() === '')
  const field = useRef<HTMLTextAreaElement>(null)
  const working = useSessionState((state) => state.turn !== undefined)
  const commands = useSessionState((state) => state.connection?.commands)
  const agent = useAgent(useSessionState((state) => state.agent))
  const attachments = useAttachments(sessionId, agent)
  const findFiles = useMemo(() => filesOfSession(sessionId), [sessionId])
  const recall = useRecall(draft.set)
  const isPaused = useSessionState((state) => pausedPrompts(state) > 0)
  const wasPaused = useStore(place, ({ paused }) => paused)
  // An edited prompt that was paused is paused again only if other prompts are still paused.
  const goesBackPaused = isPaused && wasPaused
  const awaited = useAwaited()
  const begun = useSessionState((state) => state.lastTurn !== undefined)
  const canSteer = working && !awaited && (agent?.capabilities.steer ?? false)
  const empty = wordless && attachments.list.length === 0

  const send = (delivery: Delivery) => {
    if (empty) return
    const parts = promptParts(draft.get(), attachments.list)
    const { followers } = place.get()
    prompts.submit({ sessionId, delivery, parts, followers, paused: goesBackPaused })
    // Setting an empty text also clears the draft's place in the queue.
    draft.set('')
    attachments.clear()
    recall.forget()
  }
  const stop = useStopTurn()
  const onKey = (event: KeyboardEvent): boolean => {
    const { key, shiftKey } = event
    if (key === 'Enter' && (event.metaKey || event.ctrlKey)) send(canSteer ? 'steer' : 'queue')
    else if (key === 'Enter' && !shiftKey && hasKeyboard()) send('queue')
    else if (key === 'Escape' && working) stop()
    else if (key === 'ArrowUp' && (draft.get() === '' || recall.active)) return recall.older()
    else if (key === 'ArrowDown' && recall.active) return recall.newer()
    else return false
    return true
  }
  useFocusOnOpen(field, sessionId)
  return (
    <div className="relative shrink-0 rounded-xl border border-edge bg-card shadow-sm focus-within:border-mark">
      <DroppedFiles onFiles={(files) => void attachments.add(files)} />
      <RefusalNote />
      <AttachmentChips attachments={attachments} />
      <PromptField
        field={field}
        draft={draft}
        attachments={attachments}
        {...(commands && { commands })}
        findFiles={findFiles}
        side="above"
        rows={1}
        placeholder={
          awaited?.placeholder ??
          (working ? 'Queue a follow-up…' : begun ? 'Send a follow-up…' : 'What do you want to build?')
        }
        className="min-h-11 px-3.5 pt-2.5 pb-1"
        onKey={onKey}
        onType={recall.forget}
      />
      <ComposerBar
        empty={empty}
        canSteer={canSteer}
        queues={working || goesBackPaused || awaited !== undefined}
        onFiles={(files) => void attachments.add(files)}
        onSend={send}
        onStop={stop}
      />
    </div>
  )
}

/** Focuses the field when a session opens, except on touch devices, where that would open the keyboard. */
function useFocusOnOpen(field: React.RefObject<HTMLTextAreaElement | null>, sessionId: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: focused again when another session opens
  useEffect(() => {
    if (!hasKeyboard()) return
    const taken = document.activeElement?.closest('dialog, [data-testid=request], input')
    if (!taken) focusAtEnd(field.current)
  }, [sessionId])
}

/** Shows the reason why the server refused a prompt, whose text is in the composer again. */
function RefusalNote() {
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

/** Up and Down step through the prompts that were sent in this session. */
function useRecall(write: (text: string) => void) {
  const timeline = useSnapshot((snapshot) => snapshot.view.timeline, samePrompts)
  const [place, setPlace] = useState(-1)
  const sent = () => {
    const prompts = timeline
      .filter((block) => block.type === 'prompt')
      .map((block) => promptText(block.parts))
    return [...new Set(prompts.reverse())]
  }
  const show = (next: number) => {
    const all = sent()
    if (next >= all.length) return place >= 0
    setPlace(next)
    write(next < 0 ? '' : (all[next] ?? ''))
    return true
  }
  return {
    active: place >= 0,
    older: () => show(place + 1),
    newer: () => show(place - 1),
    forget: () => setPlace(-1),
  }
}

/** True if two timelines have the same prompts. A change to any other block does not render the composer again. */
function samePrompts(one: readonly Block[], other: readonly Block[]): boolean {
  if (one === other) return true
  const last = (blocks: readonly Block[]) => blocks.findLast((block) => block.type === 'prompt')
  return last(one) === last(other) && one[0] === other[0]
}
