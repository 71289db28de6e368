import type { PermissionMode, SessionSettings } from '@parley/protocol'
import { useAgent } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useModels } from '../base/models.ts'
import { useMay } from '../base/self.ts'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { chosenModel, effortName, effortsOf } from './model-choice.logic.ts'

/** The labels of the modes, which match the names of the modes on the command line. */
export const modeNames: Record<PermissionMode, string> = {
  ask: 'Ask',
  'accept-edits': 'Accept edits',
  'read-only': 'Read-only',
  plan: 'Plan',
  bypass: 'Bypass',
}

/** The modes that let an agent do more than `ask` does. Choosing one needs the scope `decide`. */
export function isWide(mode: PermissionMode): boolean {
  return mode === 'accept-edits' || mode === 'bypass'
}

/** The modes that the person may choose, and the current one. */
export function useChoosable(
  modes: readonly PermissionMode[],
  current: PermissionMode,
): readonly PermissionMode[] {
  const decides = useMay('decide')
  return modes.filter((mode) => decides || mode === current || !isWide(mode))
}

export const modeNotes: Record<PermissionMode, string> = {
  ask: 'Asks before it changes or runs anything.',
  'accept-edits': 'Changes files without asking; asks before it runs commands.',
  'read-only': 'Reads files and changes nothing.',
  plan: 'Writes a plan and asks for approval before it starts.',
  bypass: 'Does everything without asking. For folders you can afford to lose.',
}

/** The mode, model and effort of the session, below the prompt field. */
export function SettingsRow() {
  const sessionId = useSessionId()
  const agent = useAgent(useSessionState((state) => state.agent))
  const requested = useSessionState((state) => state.requested)
  const effective = useSessionState((state) => state.effective)
  const connectedModel = useSessionState((state) => state.connection?.model)
  const connectedModels = useSessionState((state) => state.connection?.models)
  const configure = (settings: SessionSettings) =>
    void client.configure(sessionId, settings).catch(toastError)

  const mode = requested.mode ?? effective.mode ?? 'ask'
  const modes = useChoosable(agent?.modes ?? [mode], mode)
  const listed = useModels(connectedModels ? undefined : agent)
  const models = connectedModels ?? listed
  const model = chosenModel(models, { requested, effective, running: connectedModel })
  const running = effective.model ?? connectedModel
  const efforts = effortsOf(models, model)
  const effort = requested.options?.effort ?? effective.options?.effort ?? ''
  const known = models.some((one) => one.id === model)
  return (
    <>
      <Choice
        label="Mode"
        value={mode}
        title={modeNotes[mode]}
        alarming={mode === 'bypass'}
        options={modes.map((one) => ({ value: one, label: modeNames[one] }))}
        onChange={(value) => configure({ mode: value as PermissionMode })}
      />
      {models.length > 0 && agent?.capabilities.models && (
        <Choice
          label="Model"
          value={model}
          title={running === undefined ? 'Model' : `Model: ${running}`}
          options={[
            ...(known ? [] : [{ value: model, label: model || 'Default model' }]),
            ...models.map((one) => ({ value: one.id, label: one.name })),
          ]}
          onChange={(value) => configure({ model: value })}
        />
      )}
      {efforts.length > 0 && agent?.capabilities.effort && (
        <Choice
          label="Effort"
          value={effort}
          options={[
            ...(effort === '' ? [{ value: '', label: 'Default effort' }] : []),
            ...efforts.map((one) => ({ value: one, label: effortName(one) })),
          ]}
          onChange={(value) => configure({ options: { effort: value } })}
        />
      )}
    </>
  )
}

type Props = {
  label: string
  value: string
  options: readonly { readonly value: string; readonly label: string }[]
  title?: string
  alarming?: boolean
  onChange: (value: string) => void
}

export function Choice({ label, value, options, title, alarming = false, onChange }: Props) {
  return (
    <select
      aria-label={label}
      title={title ?? label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={`field-sizing-content h-7 max-w-44 shrink-0 truncate rounded-md bg-transparent px-1 text-xs hover:bg-hover pointer-coarse:h-11 ${alarming ? 'font-semibold text-bad' : 'text-soft'}`}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  )
}
