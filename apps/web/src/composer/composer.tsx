import { type Delivery, pausedPrompts } from '@parley/protocol'
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import { useAgent } from '../base/agents.ts'
import { focusAtEnd, hasKeyboard } from '../base/focus.ts'
import { useStore } from '../base/store.ts'
import { promptParts } from '../session-data/attachment.logic.ts'
import { draftOf, prompts } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { useStopTurn } from '../session-data/stop-turn.ts'
import { AttachmentChips, useAttachments } from './attachments.tsx'
import { ComposerBar } from './composer-bar.tsx'
import { DroppedFiles } from './dropped-files.tsx'
import { filesOfSession } from './files.ts'
import { PromptField } from './prompt-field.tsx'
import { useRecall } from './recall.ts'
import { RefusalNote } from './refusal-note.tsx'

/** The composer of a session. It subscribes only to the state it shows, so that streaming never slows typing. */
export function Composer() {
  const sessionId = useSessionId()
  const { text: draft, place } = draftOf(sessionId)
  // Typing a letter renders only the field.
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
  // If no other prompt is paused, the queue is not paused any more.
  const goesBackPaused = isPaused && wasPaused
  const canSteer = working && (agent?.capabilities.steer ?? false)
  const begun = useSessionState((state) => state.lastTurn !== undefined)
  const empty = wordless && attachments.list.length === 0

  const send = (delivery: Delivery) => {
    if (empty) return
    const parts = promptParts(draft.get(), attachments.list)
    const { followers } = place.get()
    prompts.submit({ sessionId, delivery, parts, followers, paused: goesBackPaused })
    // An empty draft has no place.
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
          working ? 'Queue a follow-up…' : begun ? 'Send a follow-up…' : 'What do you want to build?'
        }
        className="min-h-11 px-3.5 pt-2.5 pb-1"
        onKey={onKey}
        onType={recall.forget}
      />
      <ComposerBar
        empty={empty}
        canSteer={canSteer}
        queues={working || goesBackPaused}
        onFiles={(files) => void attachments.add(files)}
        onSend={send}
        onStop={stop}
      />
    </div>
  )
}

/** Focuses the field when a session opens. Not on touch devices, where it would only open the keyboard. */
function useFocusOnOpen(field: React.RefObject<HTMLTextAreaElement | null>, sessionId: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: focused again when another session opens
  useEffect(() => {
    if (!hasKeyboard()) return
    const taken = document.activeElement?.closest('dialog, [data-testid=request], input')
    if (!taken) focusAtEnd(field.current)
  }, [sessionId])
}
