import {
  type EnvironmentInfo,
  isAtSeveralPlaces,
  type NewEnvironment,
  type SessionSummary,
} from '@parley/protocol'
import { useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { useFocusFallback } from '../base/focus.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { Link } from '../parts/link.tsx'
import { toast } from '../parts/toasts.tsx'
import { useAllSessions } from '../session-data/session-list.ts'
import { AddForm } from './add-form.tsx'
import { Labelled, Select } from './form-parts.tsx'
import { Section } from './section.tsx'
import { useServerList } from './use-server-list.ts'
import { emptyVariable, variableOf } from './variable-form.logic.ts'

const listEnvironments = () => client.call('listEnvironments').then(({ environments }) => environments)

/** Environment variables for agents' processes. Only their names are shown: the server never returns a value. */
export function VariablesSection() {
  const { sessions } = useAllSessions()
  const { list: targets, problem, reload, change } = useServerList(listEnvironments)
  const administers = useMay('admin')
  const remove = ({ names: _, ...target }: EnvironmentInfo, name: string) =>
    change(async () => {
      await client.call('unsetEnvironment', { query: { ...target, name } })
      toast(`Removed ${name}.`)
    })
  return (
    <Section
      title="Environment variables"
      purpose="Variables that agents are started with, for all sessions in a folder or for one session. Values are stored on the server and never shown again. A change takes effect when the agent next starts."
      adminWork="Setting variables"
      problem={problem}
    >
      {targets?.length === 0 && <p className="text-sm">No variables.</p>}
      <ul className="flex flex-col gap-2">
        {targets?.flatMap((target) =>
          target.names.map((name) => (
            <VariableRow
              key={`${target.sessionId ?? target.folder} ${target.place} ${name}`}
              target={target}
              showsPlace={isAtSeveralPlaces(targets)}
              name={name}
              sessions={sessions}
              onRemove={administers ? () => remove(target, name) : undefined}
            />
          )),
        )}
      </ul>
      {administers && <AddVariable sessions={sessions} onAdded={reload} />}
    </Section>
  )
}

type VariableRowProps = {
  target: EnvironmentInfo
  showsPlace: boolean
  name: string
  sessions: readonly SessionSummary[]
  onRemove: (() => void) | undefined
}

function VariableRow({ target, showsPlace, name, sessions, onRemove }: VariableRowProps) {
  const [asking, setAsking] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  useFocusFallback(row)
  return (
    <li
      ref={row}
      className="flex flex-wrap items-center gap-x-3 gap-y-1.5 rounded-lg border border-line bg-card px-3.5 py-2 text-sm"
    >
      <span className="min-w-0 flex-1 basis-56">
        <span className="block font-mono [overflow-wrap:anywhere]">{name}</span>
        <span className="block text-xs text-soft">
          <Where target={target} showsPlace={showsPlace} sessions={sessions} />
        </span>
      </span>
      {!onRemove ? null : asking ? (
        <>
          <span className="text-xs text-wait">The value cannot be restored.</span>
          <span className="flex gap-1">
            <Button autoFocus onClick={() => setAsking(false)}>
              Cancel
            </Button>
            <Button look="danger" aria-label={`Remove ${name} for good`} onClick={onRemove}>
              Remove
            </Button>
          </span>
        </>
      ) : (
        <Button look="danger" aria-label={`Remove ${name}`} onClick={() => setAsking(true)}>
          Remove
        </Button>
      )}
    </li>
  )
}

function Where({
  target,
  showsPlace,
  sessions,
}: Pick<VariableRowProps, 'target' | 'showsPlace' | 'sessions'>) {
  if (target.sessionId === undefined) {
    return (
      <>
        All sessions in <span className="[overflow-wrap:anywhere]">{target.folder}</span>
        {showsPlace && target.place && ` at ${visible(target.place)}`}
      </>
    )
  }
  return (
    <>
      Session{' '}
      <Link
        to={{ name: 'session', id: target.sessionId }}
        className="underline pointer-coarse:-my-3.5 pointer-coarse:py-3.5"
      >
        {titleOf(sessions.find(({ id }) => id === target.sessionId))}
      </Link>
    </>
  )
}

function titleOf(session: SessionSummary | undefined): string {
  return visible(session?.title ?? '') || 'Untitled'
}

const addVariable = (body: NewEnvironment) => client.call('setEnvironment', { body })

function AddVariable({ sessions, onAdded }: { sessions: readonly SessionSummary[]; onAdded: () => void }) {
  const form = { empty: emptyVariable, read: variableOf, send: addVariable, onAdded }
  return (
    <AddForm button="Add a variable" label="New variable" {...form}>
      {({ fields, write, text }) => (
        <div className="grid gap-3 sm:grid-cols-2">
          <Labelled label="For">
            <Select
              value={fields.sessionId}
              options={[
                ['', 'All sessions in a folder'],
                ...sessions.map((session) => [session.id, `Session: ${titleOf(session)}`] as const),
              ]}
              onChoose={(sessionId) => write({ sessionId })}
            />
          </Labelled>
          {fields.sessionId === '' ? (
            text('folder', 'Folder', '~/project', { first: true })
          ) : (
            <span className="max-sm:hidden" />
          )}
          {text('name', 'Name', 'GITHUB_TOKEN')}
          {text('value', 'Value', '', { secret: true })}
        </div>
      )}
    </AddForm>
  )
}
