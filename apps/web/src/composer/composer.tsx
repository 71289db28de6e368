import { type Block, type Delivery, type PromptPart, promptText } from '@parley/protocol'
import { ArrowUp, CornerDownRight, ListPlus, Paperclip, Square } from 'lucide-react'
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { useAgent } from '../page/agents.ts'
import { client } from '../page/client.ts'
import { useStore } from '../page/store.ts'
import { toastError } from '../page/toasts.tsx'
import { IconButton } from '../parts/button.tsx'
import { usePart, useSessionId, useStatePart } from '../session/session-context.tsx'
import { AttachmentChips, useAttachments } from './attachments.tsx'
import { completionAt, withChoice } from './completion.logic.ts'
import { CompletionList, useCompletions } from './completions.tsx'
import { draftOf } from './draft.ts'
import { Meter } from './meter.tsx'
import { submit } from './outbox.ts'
import { SettingsRow } from './settings-row.tsx'

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
  const interrupted = useStatePart((state) => state.turn?.interrupted ?? false)
  const commands = useStatePart((state) => state.connection?.commands) ?? noCommands
  const agent = useAgent(useStatePart((state) => state.agent))
  const attachments = useAttachments({
    images: agent?.capabilities.images ?? true,
    files: agent?.capabilities.files ?? true,
  })
  const recall = useRecall(draft.set)
  const completion = completionAt(text, caret)
  const completions = useCompletions({ sessionId, commands, completion })
  const canSteer = working && (agent?.capabilities.steer ?? false)
  const empty = text.trim() === '' && attachments.list.length === 0

  const send = (delivery: Delivery) => {
    if (empty) return
    const words: PromptPart[] = text.trim() === '' ? [] : [{ type: 'text', text: text.trim() }]
    submit({ sessionId, delivery, parts: [...words, ...attachments.list.map(({ part }) => part)] })
    draft.set('')
    attachments.clear()
    recall.forget()
  }
  const stop = () => void client.cancel(sessionId).catch(toastError)
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
  const onDrop = (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return
    event.preventDefault()
    void attachments.add([...event.dataTransfer.files])
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a way besides the button
    <div
      className="relative rounded-xl border border-edge bg-card shadow-sm focus-within:border-mark"
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      {completion && completions.choices.length > 0 && (
        <CompletionList
          id={completions.listId}
          kind={completion.kind}
          choices={completions.choices}
          place={completions.place}
          onChoose={choose}
        />
      )}
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
          setCaret(event.target.selectionStart)
          recall.forget()
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        className="field-sizing-content block max-h-[40dvh] min-h-11 w-full resize-none bg-transparent px-3.5 pt-2.5 pb-1 text-base outline-none"
      />
      <div className="flex items-center gap-0.5 px-1.5 pb-1.5">
        <AttachButton onFiles={(files) => void attachments.add(files)} />
        <div className="hide-scroll flex min-w-0 flex-1 items-center gap-0.5 overflow-x-auto">
          <SettingsRow />
          <Meter />
        </div>
        <span className="flex shrink-0 items-center gap-1">
          {canSteer && !empty && (
            <button
              type="button"
              onClick={() => send('steer')}
              title="Into the running turn (Ctrl+Enter)"
              className="flex h-8 items-center gap-1 rounded-lg border border-dashed border-mark px-2 text-xs font-medium text-mark hover:bg-mark-wash pointer-coarse:h-11"
            >
              <CornerDownRight size={14} aria-hidden /> Steer
            </button>
          )}
          {working && (
            <IconButton
              label={interrupted ? 'Stopping' : 'Stop (Esc)'}
              onClick={stop}
              disabled={interrupted}
              className="size-8! border border-edge pointer-coarse:size-11!"
            >
              <Square size={12} fill="currentColor" />
            </IconButton>
          )}
          <button
            type="button"
            aria-label={working ? 'Queue' : 'Send'}
            title={working ? 'Queue: runs when this turn is over (Enter)' : 'Send (Enter)'}
            disabled={empty}
            onClick={() => send('queue')}
            className="flex size-8 items-center justify-center rounded-lg bg-mark-fill text-white hover:brightness-110 disabled:bg-hover disabled:text-faint pointer-coarse:size-11"
          >
            {working ? <ListPlus size={16} /> : <ArrowUp size={17} />}
          </button>
        </span>
      </div>
    </div>
  )
}

function AttachButton({ onFiles }: { onFiles: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <IconButton label="Attach pictures or files" onClick={() => input.current?.click()}>
        <Paperclip size={15} />
      </IconButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
    </>
  )
}

/** A session that opens is ready to be written to; on a phone that would only raise the keyboard. */
function useFocusHere(field: React.RefObject<HTMLTextAreaElement | null>, sessionId: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another session is another opening
  useEffect(() => {
    if (!enterSends()) return
    const taken = document.activeElement?.closest('dialog, [data-testid=request], input')
    if (!taken) field.current?.focus({ preventScroll: true })
  }, [sessionId])
}

/** Up and Down walk through what was sent in this session. */
function useRecall(write: (text: string) => void) {
  const timeline = usePart((snapshot) => snapshot.view.timeline, samePrompts)
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

/** The composer cares for prompts only: another block is no reason to render. */
function samePrompts(one: readonly Block[], other: readonly Block[]): boolean {
  if (one === other) return true
  const last = (blocks: readonly Block[]) => blocks.findLast((block) => block.type === 'prompt')
  return last(one) === last(other) && one[0] === other[0]
}
