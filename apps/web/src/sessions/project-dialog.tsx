import { type Project, projectName } from '@parley/protocol'
import { type FormEvent, useId, useState } from 'react'
import { otherActorText } from '../base/actor-text.logic.ts'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords, visible } from '../base/format.logic.ts'
import { useMay, useSelf } from '../base/self.ts'
import { useSubmission } from '../base/submission.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { loadProjects } from '../session-data/projects.ts'
import {
  type FormField,
  type FormTexts,
  formFields,
  missingScope,
  patchOf,
  textsOf,
} from './project-form.logic.ts'

type Props = { project: Project; onClose: () => void }

/** The settings of a project. A setting that the person may not change is read-only. */
export default function ProjectDialog({ project, onClose }: Props) {
  const [before] = useState(() => textsOf(project.settings))
  const [texts, setTexts] = useState(before)
  const { problem, isBusy, submit } = useSubmission()
  const mayPrompt = useMay('prompt')
  const patch = patchOf(before, texts)
  const isChanged = Object.keys(patch).length > 0
  const save = async () => {
    await client.call('patchProject', { params: { id: project.id }, body: patch })
    await loadProjects()
    onClose()
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (isChanged) void submit(save)
  }
  return (
    <Dialog
      label={`Settings of the project ${visible(project.name)}`}
      onClose={onClose}
      className="flex-col open:flex"
    >
      <form onSubmit={onSubmit} className="flex min-h-0 flex-col">
        <h2 className="px-4 pt-3.5 text-base font-semibold">Project settings</h2>
        <p className="px-4 text-xs [overflow-wrap:anywhere] text-soft">{visible(project.root)}</p>
        <div className="flex min-h-0 flex-col gap-3 overflow-y-auto px-4 py-3">
          {formFields.map((field) => (
            <Setting
              key={field.key}
              field={field}
              project={project}
              texts={texts}
              onWrite={(text) => setTexts({ ...texts, [field.key]: text })}
            />
          ))}
        </div>
        {problem !== undefined && (
          <p role="alert" className="px-4 pb-2 text-sm [overflow-wrap:anywhere] text-bad">
            {problem}
          </p>
        )}
        <div className="flex items-center justify-end gap-2 px-4 pt-1 pb-3.5">
          <Button look="quiet" onClick={onClose}>
            {mayPrompt ? 'Cancel' : 'Close'}
          </Button>
          {mayPrompt && (
            <Button look="primary" type="submit" disabled={!isChanged || isBusy}>
              Save
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  )
}

type SettingProps = {
  field: FormField
  project: Project
  texts: FormTexts
  onWrite: (text: string) => void
}

function Setting({ field, project, texts, onWrite }: SettingProps) {
  const id = useId()
  const scopes = { prompt: useMay('prompt'), admin: useMay('admin'), decide: useMay('decide') }
  const missing = missingScope(field, (scope) => scopes[scope as keyof typeof scopes] ?? true)
  const now = useNow()
  const { key, label, note, kind } = field
  const change = project.changes?.[key]
  const by = otherActorText(change?.by, useSelf())
  const shared = {
    id,
    value: texts[key],
    disabled: missing !== undefined,
    'aria-describedby': `${id}-note`,
    spellCheck: false,
    placeholder: field.example ?? (key === 'name' ? projectName(project.project) : project.branch),
    className: `field w-full disabled:opacity-70 pointer-coarse:min-h-11 pointer-coarse:text-base ${kind === 'command' || kind === 'lines' ? 'font-mono' : ''}`,
    onChange: ({ target }: { target: { value: string } }) => onWrite(target.value),
  }
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {kind === 'command' || kind === 'lines' ? (
        <textarea
          {...shared}
          rows={kind === 'lines' ? 2 : 1}
          className={`${shared.className} field-sizing-content max-h-32 resize-none`}
        />
      ) : kind === 'number' ? (
        <input {...shared} type="number" min={1} max={3650} step={1} inputMode="numeric" />
      ) : (
        <input {...shared} autoCapitalize="off" autoComplete="off" />
      )}
      <p id={`${id}-note`} className="text-xs text-soft">
        {note}
        {change && ` Changed ${agoInWords(change.at, now)}${by ? ` by ${by}` : ''}.`}
        {missing !== undefined && ` Changing it needs the scope “${missing}”.`}
      </p>
    </div>
  )
}
