import type { Delivery, PromptPart } from '@parley/protocol'
import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useAgent } from '../page/agents.ts'
import { useStore } from '../page/store.ts'
import { ChoiceList } from '../parts/choice-list.tsx'
import { useSessionId, useStatePart } from '../session/session-context.tsx'
import { useStopTurn } from '../session/stop-turn.ts'
import { AttachmentChips, useAttachments } from './attachments.tsx'
import { completionAt, withChoice } from './completion.logic.ts'
import { useCompletions } from './completions.tsx'
import { ComposerBar } from './composer-bar.tsx'
import { draftOf, followersOf } from './draft.ts'
import { DroppedFiles } from './dropped-files.tsx'
import { submit } from './outbox.ts'
import { useRecall } from './recall.ts'
import { RefusalNote } from './refusal-note.tsx'

const noCommands: never[] = []
const enterSends = () => !matchMedia('(pointer: coarse)').matches

/** Where a prompt is written. It hears of what it shows and of nothing else, so the stream never slows it. */
export function Composer() {
  const sessionId = useSessionId()
  const draft = draftOf(sessionId)
  const text = useStore(draft)
  const field = useRef<HTMLTextAreaElement>(null)
  const [caret, setCaret] = useState(text.length)
  const working = useStatePart((state) => state.turn !== undefined)
  const commands = useStatePart((state) => state.connection?.commands) ?? noCommands
  const agent = useAgent(useStatePart((state) => state.agent))
  const attachments = useAttachments()
  const recall = useRecall(draft.set)
  const completion = completionAt(text, caret)
  const completions = useCompletions({ sessionId, commands, completion })
  const canSteer = working && (agent?.capabilities.steer ?? false)
  const empty = text.trim() === '' && attachments.list.length === 0

  const send = (delivery: Delivery) => {
    if (empty) return
    const words: PromptPart[] = text.trim() === '' ? [] : [{ type: 'text', text: text.trim() }]
    const parts = [...words, ...attachments.list.map(({ part }) => part)]
    submit({ sessionId, delivery, parts, followers: followersOf(sessionId).get() })
    followersOf(sessionId).set([])
    draft.set('')
    attachments.clear()
    recall.forget()
  }
  const stop = useStopTurn()
  const write = (next: { text: string; caret: number }) => {
    draft.set(next.text)
    setCaret(next.caret)
    requestAnimationFrame(() => field.current?.setSelectionRange(next.caret, next.caret))
  }
  const choose = (value: string) => completion && write(withChoice(text, completion, value))

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return
    const used = completions.choices.length > 0 ? completionKey(event) : composerKey(event)
    if (used) event.preventDefault()
  }
  const completionKey = ({ key, shiftKey }: KeyboardEvent): boolean => {
    const { choices, place, move, dismiss } = completions
    if (key === 'ArrowDown') move(1)
    else if (key === 'ArrowUp') move(-1)
    else if ((key === 'Enter' && !shiftKey) || key === 'Tab') choose(choices[place]?.value ?? '')
    else if (key === 'Escape') dismiss()
    else return false
    return true
  }
  const composerKey = (event: KeyboardEvent): boolean => {
    const { key, shiftKey } = event
    if (key === 'Enter' && (event.metaKey || event.ctrlKey)) send(canSteer ? 'steer' : 'queue')
    else if (key === 'Enter' && !shiftKey && enterSends()) send('queue')
    else if (key === 'Escape' && working) stop()
    else if (key === 'ArrowUp' && (text === '' || recall.active)) return recall.older()
    else if (key === 'ArrowDown' && recall.active) return recall.newer()
    else return false
    return true
  }

  useFocusHere(field, sessionId)
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    void attachments.add(files)
  }
  return (
    <div className="relative shrink-0 rounded-xl border border-edge bg-card shadow-sm focus-within:border-mark">
      <DroppedFiles onFiles={(files) => void attachments.add(files)} />
      {completion && completions.choices.length > 0 && (
        <ChoiceList
          id={completions.listId}
          label={completion.kind === 'command' ? 'Commands' : 'Files'}
          sign={completion.kind === 'command' ? '/' : ''}
          side="above"
          choices={completions.choices}
          place={completions.place}
          onChoose={choose}
        />
      )}
      <RefusalNote />
      <AttachmentChips attachments={attachments} />
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label="Prompt"
        role="combobox"
        aria-expanded={completions.choices.length > 0}
        aria-controls={completions.choices.length > 0 ? completions.listId : undefined}
        aria-activedescendant={
          completions.choices.length > 0 ? `${completions.listId}-${completions.place}` : undefined
        }
        aria-autocomplete="list"
        placeholder={working ? 'Write what comes next; it waits its turn' : 'What should be done?'}
        onChange={(event) => {
          draft.set(event.target.value)
          if (event.target.value === '') followersOf(sessionId).set([])
          setCaret(event.target.selectionStart)
          recall.forget()
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        className="field-sizing-content block max-h-[40dvh] min-h-11 w-full resize-none bg-transparent px-3.5 pt-2.5 pb-1 text-base outline-none"
      />
      <ComposerBar
        empty={empty}
        canSteer={canSteer}
        onFiles={(files) => void attachments.add(files)}
        onSend={send}
        onStop={stop}
      />
    </div>
  )
}

/** A session that opens is ready to be written to; on a phone that would only raise the keyboard. */
function useFocusHere(field: React.RefObject<HTMLTextAreaElement | null>, sessionId: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another session is another opening
  useEffect(() => {
    if (!enterSends()) return
    const taken = document.activeElement?.closest('dialog, [data-testid=request], input')
    if (taken || !field.current) return
    field.current.focus({ preventScroll: true })
    // One goes on behind what was kept.
    field.current.setSelectionRange(field.current.value.length, field.current.value.length)
  }, [sessionId])
}
