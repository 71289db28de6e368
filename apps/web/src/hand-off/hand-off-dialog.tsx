import type { AgentInfo } from '@parley/protocol'
import { TriangleAlert } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'
import { useAgents } from '../base/agents.ts'
import { useModels } from '../base/models.ts'
import { readinessOf } from '../parts/agents/readiness.logic.ts'
import { Button, Key } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import type { HandOffPoint } from '../session-data/session-actions.ts'
import { useSessionState } from '../session-data/session-context.tsx'
import { missingTexts, sizeText } from './hand-off-text.logic.ts'
import { type HandOffDraft, useHandOff } from './use-hand-off.ts'

type Props = { point: HandOffPoint; onClose: () => void }

/**
 * Lets the person choose an agent, and read and edit the text for the agent, before the new session is
 * created.
 */
export default function HandOffDialog({ point, onClose }: Props) {
  const current = useSessionState((state) => state.agent)
  const isBusy = useSessionState((state) => state.turn !== undefined)
  const found = useAgents().agents.filter(({ found }) => found)
  const [chosen, setChosen] = useState<string>()
  const agent = found.find(({ id }) => id === chosen) ?? firstOther(found, current)
  const [chosenModel, setModel] = useState('')
  const models = useModels(agent)
  const model = models.some(({ id }) => id === chosenModel) ? chosenModel : ''
  const draft = useHandOff(point, agent, model)
  const [prompt, setPrompt] = useState(point.prompt ?? '')
  const start = () => void draft.start(prompt)
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    start()
  }
  return (
    <Dialog
      label="Hand over to another agent"
      onClose={onClose}
      className="w-[min(46rem,calc(100vw-1.5rem))]! flex-col open:flex"
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Ctrl+Enter starts from every field */}
      <div className="flex min-h-0 flex-col" onKeyDown={onKey}>
        <h2 className="px-4 pt-3.5 text-base font-semibold">Hand over to another agent</h2>
        <div className="flex min-h-0 flex-col gap-3 overflow-y-auto px-4 py-3 text-sm">
          <div className="flex flex-wrap gap-3">
            <Select
              label="Agent"
              value={agent?.id ?? ''}
              options={found.map((one) => ({ value: one.id, label: agentText(one) }))}
              onChange={setChosen}
            />
            {models.length > 0 && (
              <Select
                label="Model"
                value={model}
                options={[
                  ...(models.some(({ isDefault }) => isDefault)
                    ? []
                    : [{ value: '', label: 'Default model' }]),
                  ...models.map(({ id, name, isDefault }) => ({ value: isDefault ? '' : id, label: name })),
                ]}
                onChange={setModel}
              />
            )}
          </div>
          {isBusy && (
            <p className="flex items-start gap-2 text-wait">
              <TriangleAlert size={15} aria-hidden className="mt-0.5 shrink-0" />
              This session is still working. Both agents would change files in the same folder.
            </p>
          )}
          <Field label="First prompt">
            {(id) => (
              <textarea
                id={id}
                value={prompt}
                rows={2}
                placeholder="Continue the work that the hand-off describes."
                onChange={(event) => setPrompt(event.target.value)}
                className={`${field} field-sizing-content max-h-40`}
              />
            )}
          </Field>
          <Context draft={draft} />
        </div>
        <div className="flex items-center justify-end gap-2 px-4 pt-1 pb-3.5">
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            look="primary"
            disabled={!draft.preview || draft.sending || draft.text.trim() === ''}
            onClick={start}
          >
            Start {agent?.name} <Key>Ctrl+Enter</Key>
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

const field =
  'w-full min-w-0 rounded-md border border-edge bg-page px-2.5 py-1.5 outline-none focus:border-mark pointer-coarse:text-base'

/** The text for the agent, with its size and a list of what it leaves out. */
function Context({ draft: { preview, problem, text, isEdited, edit, reset } }: { draft: HandOffDraft }) {
  return (
    <div className="flex min-h-0 flex-col gap-1">
      <Field label="Text for the agent">
        {(id) => (
          <textarea
            id={id}
            value={text}
            readOnly={!preview}
            spellCheck={false}
            onChange={(event) => edit(event.target.value)}
            className={`${field} h-[min(24rem,38dvh)] resize-y bg-sunk! text-sm`}
          />
        )}
      </Field>
      <p className="flex flex-wrap items-center gap-x-3 text-xs text-soft" aria-live="polite">
        {problem !== undefined && <span className="text-bad">{problem}</span>}
        {!preview && problem === undefined && <span>Reading the session…</span>}
        {preview && <span>{sizeText(text.length)}.</span>}
        {preview && missingTexts(preview).map((one) => <span key={one}>{one}</span>)}
        {isEdited && (
          <button type="button" onClick={reset} className="text-mark underline pointer-coarse:min-h-11">
            Undo my changes
          </button>
        )}
      </p>
    </div>
  )
}

function Field({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId()
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-xs font-medium text-soft">
        {label}
      </label>
      {children(id)}
    </div>
  )
}

type SelectProps = {
  label: string
  value: string
  options: readonly { readonly value: string; readonly label: string }[]
  onChange: (value: string) => void
}

function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <Field label={label}>
      {(id) => (
        <select
          id={id}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className="h-8 max-w-64 min-w-40 truncate rounded-md border border-edge bg-card px-2 pointer-coarse:h-11"
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/**
 * The first other agent that is ready, otherwise the first other agent, otherwise the same agent, which may
 * get another model.
 */
function firstOther(agents: readonly AgentInfo[], current: string): AgentInfo | undefined {
  const others = agents.filter(({ id }) => id !== current)
  return others.find((one) => readinessOf(one) === 'ready') ?? others[0] ?? agents[0]
}

function agentText(agent: AgentInfo): string {
  const notes = {
    ready: '',
    unsure: '',
    'signed-out': ' (not signed in)',
    unusable: ' (cannot be used)',
    missing: '',
  }
  return `${agent.name}${notes[readinessOf(agent)]}`
}
