import { commandOf, type PermissionOption } from '@parley/protocol'
import { useState } from 'react'
import { useAgent, useAgentName } from '../base/agents.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useStore } from '../base/store.ts'
import { KindIcon } from '../call/kind-icon.tsx'
import { Button } from '../parts/button.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { useAnswerDraft } from './answer-draft.ts'
import { useAnswer } from './answers.ts'
import { AwaitedNote } from './awaited-note.tsx'
import { Card, closeOnEscape, focusCard } from './card.tsx'
import {
  type CardProps,
  choicesOf,
  type OpenPermission,
  reachWarnings,
  requestTitle,
} from './choices.logic.ts'
import { copyLink } from './copy-link.ts'
import { PermissionButtons } from './permission-buttons.tsx'
import { RequestedAction } from './requested-action.tsx'

const editPart = lazyPart(() => import('./edit-form.tsx'))

type Props = CardProps & { request: OpenPermission }

/** A permission with its reason and every possible answer. Everything that would run is shown. */
export function PermissionCard({ session, request, takesFocus, awaited }: Props) {
  const agent = useAgent(session.agent)
  const { decide, sending } = useAnswer(session.id, request)
  const [denying, setDenying] = useState(false)
  const [draft, keep] = useAnswerDraft(request.requestId)
  const edit = useEdit(request)
  const choices = choicesOf(request, useMay('admin'))
  const decides = useMay('decide')
  const allow = (option: PermissionOption | undefined) => {
    if (!option || !edit.mayAllow) return
    decide('allow', { scope: option.scope, ...(edit.input !== request.input && { input: edit.input }) })
  }
  const isPlan = request.kind === 'plan'
  const onKey = (key: string) => {
    if (!decides || denying || edit.isLoading) return false
    if (key === '1' && choices.once) allow(choices.once)
    else if (key === '2' && choices.session && !edit.edits) allow(choices.session)
    else if (key === '3') isPlan ? setDenying(true) : decide('deny')
    else return false
    return true
  }
  const title = requestTitle(request, useAgentName(session.agent))
  return (
    <Card label={`${title}: ${request.title}`} takesFocus={takesFocus} onKey={onKey}>
      <Head title={title} request={request} folder={session.cwd} />
      <Body
        request={request}
        folder={session.cwd}
        edit={edit}
        isAwaited={awaited !== undefined}
        onAllow={() => allow(choices.once)}
      />
      <AwaitedNote machine={awaited} />
      {!decides ? (
        <NeedsScope what="Answering this request" scope="decide" className="px-3.5 pt-2.5 pb-3" />
      ) : denying ? (
        <DenyForm
          no={isPlan ? 'Request changes' : 'Deny'}
          reason={draft.reason ?? ''}
          onWrite={(reason) => keep({ reason })}
          sending={sending}
          onBack={() => setDenying(false)}
          onDeny={(options) => decide('deny', options)}
        />
      ) : (
        <PermissionButtons
          plan={isPlan}
          command={commandOf(request.input)}
          choices={!edit.edits ? choices : { ...choices, session: undefined, wider: [] }}
          edited={edit.edits !== undefined}
          disabled={sending || !edit.mayAllow}
          onAllow={allow}
          onDeny={() => decide('deny')}
          onDenyWithReason={() => setDenying(true)}
          onCopyLink={() => void copyLink(session.id, request)}
          {...(agent?.capabilities.editInput &&
            !isPlan && { onNearEdit: editPart.fetch, onEdit: edit.toggle })}
        />
      )}
    </Card>
  )
}

type Edit = ReturnType<typeof useEdit>

/** The edited input. Edits apply only while the edit form is open, but are kept in case it is opened again. */
function useEdit(request: OpenPermission) {
  const [draft, keep] = useAnswerDraft(request.requestId)
  const [editing, setEditing] = useState(false)
  const edits = editing ? (draft.edits ?? {}) : undefined
  const { shown: form } = useStore(editPart.loaded)
  const edited = edits && form?.editedInput(request.input, edits)
  const { input, problem, at } = edited ?? { input: request.input }
  const isLoading = edits !== undefined && form === undefined
  return {
    edits,
    input,
    problem,
    at,
    isLoading,
    mayAllow: problem === undefined && !isLoading,
    write: (next: NonNullable<typeof edits>) => keep({ edits: next }),
    toggle: () => setEditing(!editing),
    close: () => setEditing(false),
  }
}

function Head({ title, request, folder }: { title: string; request: OpenPermission; folder: string }) {
  const isPlan = request.kind === 'plan'
  return (
    <header className="flex flex-wrap items-baseline gap-x-2 px-3.5 pt-2.5 text-sm">
      <span className="self-center text-wait">
        <KindIcon kind={request.kind} size={15} />
      </span>
      <h3 className="font-semibold">{title}</h3>
      {request.readOnly && !isPlan && (
        <span className="rounded-sm border border-line px-1 text-xs text-soft">Read-only</span>
      )}
      <span className="ml-auto truncate text-xs text-faint" title={folder}>
        {isPlan ? '' : folder}
      </span>
    </header>
  )
}

type BodyProps = {
  request: OpenPermission
  folder: string
  edit: Edit
  isAwaited: boolean
  onAllow: () => void
}

function Body({ request, folder, edit, isAwaited, onAllow }: BodyProps) {
  const { edits, problem, at } = edit
  return (
    <div className="max-h-[min(26rem,45dvh)] overflow-y-auto px-3.5 pt-2" tabIndex={-1}>
      {!edits ? (
        <RequestedAction request={request} folder={folder} />
      ) : (
        <Lazy part={editPart}>
          {({ EditForm }) => (
            <EditForm
              input={request.input}
              edits={edits}
              problem={problem}
              at={at}
              onEdit={edit.write}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onAllow()
                else closeOnEscape(event, edit.close)
              }}
            />
          )}
        </Lazy>
      )}
      {reachWarnings(request).map((warning) => (
        <p key={warning} className="pt-1.5 text-sm text-wait">
          {warning}
        </p>
      ))}
      {request.reason && <p className="pt-1.5 text-sm text-soft">{visible(request.reason)}</p>}
      {request.stale && !isAwaited && (
        <p className="pt-1.5 text-xs text-faint">The agent is paused. It continues when you answer.</p>
      )}
    </div>
  )
}

type DenyFormProps = {
  no: string
  reason: string
  sending: boolean
  onWrite: (reason: string) => void
  onBack: () => void
  onDeny: (options: { message?: string; endTurn?: boolean }) => void
}

function DenyForm({ no, reason, sending, onWrite, onBack, onDeny }: DenyFormProps) {
  const [endTurn, setEndTurn] = useState(false)
  const message = reason.trim()
  return (
    <form
      className="flex flex-col gap-2 px-3.5 pt-2.5 pb-3"
      onSubmit={(event) => {
        event.preventDefault()
        focusCard(event.currentTarget)
        onDeny({ ...(message && { message }), ...(endTurn && { endTurn }) })
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to give a reason
        autoFocus
        aria-label="Why not, and what to do instead"
        placeholder="Why not, and what to do instead"
        value={reason}
        onChange={(event) => onWrite(event.target.value)}
        onKeyDown={(event) => closeOnEscape(event, onBack)}
        className="field w-full pointer-coarse:py-2.5 pointer-coarse:text-base"
      />
      <div className="flex flex-wrap items-center gap-2">
        <label className="flex items-center gap-1.5 text-sm text-soft">
          <input type="checkbox" checked={endTurn} onChange={(event) => setEndTurn(event.target.checked)} />
          Also stop this turn
        </label>
        <span className="ml-auto flex gap-1">
          <Button
            look="quiet"
            onClick={(event) => {
              focusCard(event.currentTarget)
              onBack()
            }}
          >
            Back
          </Button>
          <Button look="danger" type="submit" disabled={sending}>
            {no}
          </Button>
        </span>
      </div>
    </form>
  )
}
