import { type BlockOf, dueRestore, promptText, type RewindPreview } from '@parley/protocol'
import { type ReactNode, useEffect, useState } from 'react'
import { useAgent, useAgentName } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { abortable } from '../base/effects.ts'
import { plural } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmButtons, turnRuns } from '../parts/consequences-dialog.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { sessionActions } from '../session-data/session-actions.ts'
import { useSessionId, useSessionState, useSnapshot } from '../session-data/session-context.tsx'
import { chosenFiles, doneText, filesProblem, limitsOf, tickedFirst } from './go-back.logic.ts'
import { GoBackFiles } from './go-back-files.tsx'
import { turnsSince } from './turn-end.logic.ts'

type Props = { prompt: BlockOf<'prompt'>; onClose: () => void }
type Found = { readonly preview?: RewindPreview; readonly problem?: string }

/** Returns the files, the conversation or both to their state before a prompt. Lists the effects first. */
export default function GoBackDialog({ prompt, onClose }: Props) {
  const isBusy = useSessionState((state) => state.turn !== undefined || dueRestore(state) !== undefined)
  const { preview, problem } = usePreview(prompt.id, isBusy)
  const [chosen, setChosen] = useState<ReadonlySet<string>>()
  const ticked = chosen ?? (preview ? tickedFirst(preview) : new Set<string>())
  const talk = useTalk(prompt)
  const [wants, setWants] = useState({ files: true, talk: true })
  const [isGoing, setGoing] = useState(false)
  const goes = {
    files: wants.files && preview !== undefined && ticked.size > 0,
    talk: wants.talk && talk.obstacle === undefined,
  }
  const go = useGoBack(prompt, talk.turns, onClose)
  const obstacle = isBusy
    ? turnRuns
    : preview?.inUse && goes.files
      ? 'Another session works in this folder. Wait until its turn ends.'
      : undefined
  const start = () => {
    setGoing(true)
    const files = goes.files && preview ? chosenFiles(preview, ticked) : undefined
    void go(files, goes.talk).catch((thrown) => {
      setGoing(false)
      toastError(thrown)
    })
  }
  return (
    <Dialog label="Go back to here" onClose={onClose} className="flex-col open:flex">
      <h2 className="px-4 pt-3.5 text-base font-semibold">Go back to the state before this prompt?</h2>
      <div className="flex min-h-0 flex-col gap-2 overflow-y-auto px-4 py-2 text-sm">
        <Choice
          label="Files"
          checked={wants.files && problem === undefined}
          disabled={problem !== undefined}
          onChange={(files) => setWants({ ...wants, files })}
        >
          {problem ??
            'The files go back to their state before this prompt, including files that commands changed.'}
        </Choice>
        <div aria-live="polite">
          {preview ? (
            <GoBackFiles preview={preview} ticked={ticked} disabled={!wants.files} onTick={setChosen} />
          ) : (
            problem === undefined && !isBusy && <p className="pl-6 text-soft">Looking for changed files…</p>
          )}
        </div>
        <Choice
          label="Conversation"
          checked={goes.talk}
          disabled={talk.obstacle !== undefined}
          onChange={(wantsTalk) => setWants({ ...wants, talk: wantsTalk })}
        >
          {talk.obstacle ?? talk.text}
        </Choice>
        {talk.isRetold && <Retell prompt={prompt} onClose={onClose} />}
        <Limits preview={wants.files ? preview : undefined} />
        <p aria-live="polite" className="text-soft empty:hidden">
          {obstacle}
        </p>
      </div>
      <ConfirmButtons
        action="Go back"
        disabled={isGoing || obstacle !== undefined || !(goes.files || goes.talk)}
        onConfirm={start}
        onClose={onClose}
      />
    </Dialog>
  )
}

/** The preview of the rewind. Undefined while a turn runs. */
function usePreview(promptId: string, isBusy: boolean): Found {
  const id = useSessionId()
  const [found, setFound] = useState<Found>({})
  useEffect(() => {
    if (isBusy) return setFound({})
    return abortable((signal) =>
      client.call('previewRewind', { params: { id }, query: { promptId }, signal }).then(
        (preview) => setFound({ preview }),
        (thrown) => signal.aborted || setFound({ problem: filesProblem(thrown) }),
      ),
    )
  }, [id, promptId, isBusy])
  return found
}

/** The effects on the conversation, or the reason why it cannot be rewound. */
function useTalk(prompt: BlockOf<'prompt'>) {
  const id = useSessionState((state) => state.agent)
  const [agent, name] = [useAgent(id), useAgentName(id)]
  const turns = useSnapshot(({ view }) => turnsSince(view.timeline, prompt))
  const text = `${name} forgets this prompt and everything after it: ${plural(turns, 'turn')}. They stay in the session, marked as taken back. The prompt is put into the message field if that is empty.`
  const isRetold = agent?.capabilities.forkBefore === false
  const obstacle = isRetold
    ? `${name} cannot forget a part of its conversation.`
    : prompt.takenBack === undefined
      ? undefined
      : 'This prompt was already taken back.'
  return { turns, text, obstacle, isRetold }
}

function useGoBack(prompt: BlockOf<'prompt'>, turns: number, onClose: () => void) {
  const id = useSessionId()
  const undo = () => void client.command(id, { type: 'session.unrewind' }).catch(toastError)
  return async (files: ReturnType<typeof chosenFiles> | undefined, talk: boolean) => {
    const what = { files: files !== undefined, talk, ...files }
    await client.command(id, { type: 'session.rewind', promptId: prompt.id, ...what })
    const draft = draftOf(id)
    const isEmpty = draft.text.get() === '' && draft.attachments.get().length === 0
    if (talk && isEmpty) draft.putBack(prompt.parts)
    onClose()
    toast(doneText(files !== undefined, talk ? turns : undefined), { action: { label: 'Undo', run: undo } })
  }
}

type ChoiceProps = {
  label: string
  checked: boolean
  disabled: boolean
  onChange: (checked: boolean) => void
  children: ReactNode
}

function Choice({ label, checked, disabled, onChange, children }: ChoiceProps) {
  return (
    <label className="flex items-baseline gap-2 pointer-coarse:min-h-11">
      <input
        type="checkbox"
        className="translate-y-0.5 accent-mark-fill"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>
        <span className="block font-medium">{label}</span>
        <span className="block text-soft">{children}</span>
      </span>
    </label>
  )
}

/**
 * For an agent without the capability `forkBefore`: offers a new session whose agent gets the earlier
 * conversation as a text.
 */
function Retell({ prompt, onClose }: Props) {
  const retell = () => {
    onClose()
    sessionActions()?.handOff({ before: prompt.id, prompt: promptText(prompt.parts) })
  }
  return (
    <p className="pl-6">
      <Button onClick={retell}>Hand over the conversation before this prompt…</Button>
    </p>
  )
}

function Limits({ preview }: { preview: RewindPreview | undefined }) {
  return (
    <ul className="list-disc border-t border-line pt-2 pl-5 text-soft">
      {preview && limitsOf(preview).map((text) => <li key={text}>{text}</li>)}
      <li>You can undo this until the next prompt is sent.</li>
    </ul>
  )
}
