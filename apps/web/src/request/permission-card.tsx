import { commandOf, type PermissionOption, requestedDiffs } from '@parley/protocol'
import { type KeyboardEvent, useState } from 'react'
import { useAgent, useAgentName } from '../base/agents.ts'
import { visible, within } from '../base/format.logic.ts'
import { useStore } from '../base/store.ts'
import { CommandText } from '../call/call-detail.tsx'
import { asJson, isEmpty, planOf } from '../call/call-text.logic.ts'
import { KindIcon } from '../call/kind-icon.tsx'
import { Button } from '../parts/button.tsx'
import { DiffList } from '../parts/diff/diff-view.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'
import { LongText } from '../parts/long-text.tsx'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { useAnswer } from './answer.ts'
import { useAnswerDraft } from './answer-draft.ts'
import { Card, focusCard } from './card.tsx'
import {
  choicesOf,
  type OpenPermission,
  otherFields,
  plainFields,
  reachWarnings,
  requestTitle,
} from './choices.logic.ts'
import { PermissionButtons } from './permission-buttons.tsx'

const editPart = lazyPart(() => import('./edit-form.tsx'))

type Props = {
  session: { readonly id: string; readonly agent: string; readonly cwd: string }
  request: OpenPermission
  takesFocus: boolean
}

/** A permission with its reason and every possible answer. Everything that would run is shown. */
export function PermissionCard({ session, request, takesFocus }: Props) {
  const agent = useAgent(session.agent)
  const { decide, sending } = useAnswer(session.id, request)
  const [denying, setDenying] = useState(false)
  const [editing, setEditing] = useState(false)
  const [draft, keep] = useAnswerDraft(request.requestId)
  const choices = choicesOf(request)
  // Edits apply only while the edit form is open. They are kept for the next time it opens.
  const edits = editing ? (draft.edits ?? {}) : undefined
  const { shown: form } = useStore(editPart.loaded)
  const edited = edits && form?.editedInput(request.input, edits)
  const { input, problem, at } = edited ?? { input: request.input }
  const mayAllow = problem === undefined && (!edits || form !== undefined)

  const allow = (option: PermissionOption | undefined) => {
    if (!option || !mayAllow) return
    decide('allow', { scope: option.scope, ...(input !== request.input && { input }) })
  }
  const isPlan = request.kind === 'plan'
  const onKey = (key: string) => {
    if (denying || (edits && !form)) return false
    if (key === '1' && choices.once) allow(choices.once)
    else if (key === '2' && choices.session && !edits) allow(choices.session)
    else if (key === '3') isPlan ? setDenying(true) : decide('deny')
    else return false
    return true
  }
  const title = requestTitle(request, useAgentName(session.agent))
  return (
    <Card label={`${title}: ${request.title}`} takesFocus={takesFocus} onKey={onKey}>
      <header className="flex flex-wrap items-baseline gap-x-2 px-3.5 pt-2.5 text-sm">
        <span className="self-center text-wait">
          <KindIcon kind={request.kind} size={15} />
        </span>
        <h3 className="font-semibold">{title}</h3>
        {request.readOnly && !isPlan && (
          <span className="rounded-sm border border-line px-1 text-xs text-soft">Read-only</span>
        )}
        <span className="ml-auto truncate font-mono text-xs text-faint" title={session.cwd}>
          {isPlan ? '' : session.cwd}
        </span>
      </header>
      <div className="max-h-[min(26rem,45dvh)] overflow-y-auto px-3.5 pt-2" tabIndex={-1}>
        {!edits ? (
          <RequestedAction request={request} folder={session.cwd} />
        ) : (
          <Lazy part={editPart}>
            {({ EditForm }) => (
              <EditForm
                input={request.input}
                edits={edits}
                problem={problem}
                at={at}
                onEdit={(next) => keep({ edits: next })}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) allow(choices.once)
                  else leaveByEscape(event, () => setEditing(false))
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
        {request.stale && (
          <p className="pt-1.5 text-xs text-faint">The agent is paused. It continues when you answer.</p>
        )}
      </div>
      {denying ? (
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
          choices={!edits ? choices : { ...choices, session: undefined, wider: [] }}
          edited={edits !== undefined}
          disabled={sending || !mayAllow}
          onAllow={allow}
          onDeny={() => decide('deny')}
          onDenyWithReason={() => setDenying(true)}
          {...(agent?.capabilities.editInput &&
            !isPlan && {
              onNearEdit: editPart.fetch,
              onEdit: () => setEditing(!editing),
            })}
        />
      )}
    </Card>
  )
}

/** Escape closes the field only; it must not stop the turn. */
function leaveByEscape(event: KeyboardEvent, leave: () => void): void {
  if (event.key !== 'Escape' || event.nativeEvent.isComposing) return
  event.preventDefault()
  event.stopPropagation()
  focusCard(event.currentTarget)
  leave()
}

function RequestedAction({ request, folder }: { request: OpenPermission; folder: string }) {
  const command = commandOf(request.input)
  const diffs = requestedDiffs(request)
  if (request.kind === 'plan') return <PlanText input={request.input} />
  if (diffs.length > 0) {
    return (
      <>
        <DiffList diffs={diffs} folder={folder} />
        <OtherFields fields={otherFields(request.input, 'diff')} />
      </>
    )
  }
  if (command !== undefined) {
    return (
      <>
        <CommandText command={command} />
        <OtherFields fields={otherFields(request.input)} />
      </>
    )
  }
  return (
    <div>
      <p className="text-sm font-medium [overflow-wrap:anywhere]">{visible(within(request.title, folder))}</p>
      <PlainInput input={request.input} title={request.title} />
    </div>
  )
}

/** The input of a call that is neither a command nor an edit. */
function PlainInput({ input, title }: { input: unknown; title: string }) {
  const fields = plainFields(input, title)
  if (isEmpty(input) || fields?.length === 0) return null
  return (
    <ScrollRegion label="Input" className="mt-1 max-h-60 overflow-y-auto rounded-md bg-sunk">
      {fields ? (
        <dl className="px-2.5 py-2 text-sm">
          {fields.map(([name, value]) => (
            <div key={name} className="flex gap-x-3 py-0.5 max-md:flex-col">
              <dt className="shrink-0 text-xs leading-5 text-soft md:w-24">{labelOf(name)}</dt>
              <dd className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">
                <LongText text={visible(value)} />
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <pre className="terminal px-2.5 py-2">
          <LongText text={visible(asJson(input))} />
        </pre>
      )}
    </ScrollRegion>
  )
}

function PlanText({ input }: { input: unknown }) {
  const plan = planOf(input)
  if (plan !== undefined) return <LazyMarkdown text={plan} />
  return <p className="text-sm text-soft">The plan is in the conversation above.</p>
}

const fieldLabels: Readonly<Record<string, string>> = {
  description: 'Why',
  instruction: 'Why',
  prompt: 'Prompt',
  query: 'Query',
  pattern: 'Pattern',
  url: 'URL',
  file_path: 'File',
  filePath: 'File',
  path: 'Path',
}
const labelOf = (name: string) => fieldLabels[name] ?? visible(name)

/** The remaining input fields: a flag that disables the sandbox must not go unnoticed. */
function OtherFields({ fields }: { fields: ReturnType<typeof otherFields> }) {
  if (fields.length === 0) return null
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-0.5 px-1 pt-1.5 text-xs text-soft">
      {fields.map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-1.5">
          <dt className="text-faint">{labelOf(name)}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{visible(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

function DenyForm({
  no,
  reason,
  sending,
  onWrite,
  onBack,
  onDeny,
}: {
  no: string
  reason: string
  sending: boolean
  onWrite: (reason: string) => void
  onBack: () => void
  onDeny: (options: { message?: string; endTurn?: boolean }) => void
}) {
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
        onKeyDown={(event) => leaveByEscape(event, onBack)}
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
