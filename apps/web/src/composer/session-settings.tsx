import type { SessionSettings } from '@parley/protocol'
import { TriangleAlert } from 'lucide-react'
import { useAgent, useAgentName } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useModels } from '../base/models.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { toastError } from '../parts/toasts.tsx'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { chosenModel, effortsOf } from './model-choice.logic.ts'
import { useChoosable } from './modes.ts'
import { effortGroup, modeGroup, modelGroup, SettingsChip } from './settings-chip.tsx'

function useMode() {
  const requested = useSessionState((state) => state.requested.mode)
  const effective = useSessionState((state) => state.effective.mode)
  return requested ?? effective ?? 'ask'
}

function useConfigure() {
  const sessionId = useSessionId()
  return (settings: SessionSettings) => void client.configure(sessionId, settings).catch(toastError)
}

/** The mode, model and effort of the session, below the prompt field. */
export function SessionSettingsChip() {
  const agent = useAgent(useSessionState((state) => state.agent))
  const requested = useSessionState((state) => state.requested)
  const effective = useSessionState((state) => state.effective)
  const connectedModel = useSessionState((state) => state.connection?.model)
  const connectedModels = useSessionState((state) => state.connection?.models)
  const configure = useConfigure()
  const mode = useMode()
  const modes = useChoosable(agent?.modes ?? [mode], mode)
  const listed = useModels(connectedModels ? undefined : agent)
  const models = connectedModels ?? listed
  const model = chosenModel(models, { requested, effective, running: connectedModel })
  const running = effective.model ?? connectedModel
  const efforts = effortsOf(models, model)
  const effort = requested.options?.effort ?? effective.options?.effort ?? ''
  const groups = [modeGroup(mode, modes, (next) => configure({ mode: next }))]
  if (efforts.length > 0 && agent?.capabilities.effort)
    groups.push(
      effortGroup(effort, efforts, {
        hasDefault: effort === '',
        onChoose: (next) => configure({ options: { effort: next } }),
      }),
    )
  if (models.length > 0 && agent?.capabilities.models)
    groups.push(modelGroup(model, models, (next) => configure({ model: next })))
  return <SettingsChip groups={groups} title={running === undefined ? undefined : `Model: ${running}`} />
}

/** Stays above the composer while the agent does everything without asking. */
export function BypassStrip() {
  const mode = useMode()
  const agentName = useAgentName(useSessionState((state) => state.agent))
  const configure = useConfigure()
  const prompts = useMay('prompt')
  if (mode !== 'bypass') return null
  return (
    <section
      aria-label="Bypass mode"
      data-testid="bypass"
      className="mb-1.5 flex shrink-0 items-center gap-2 rounded-lg bg-bad-wash py-1 pr-1 pl-3 text-sm"
    >
      <TriangleAlert size={15} aria-hidden className="shrink-0 text-bad" />
      <p className="min-w-0 flex-1 py-0.5 text-pretty">
        <strong className="font-semibold text-bad">Bypass.</strong> {agentName} changes files and runs
        commands without asking, except what a rule denies.
      </p>
      {prompts && <Button onClick={() => configure({ mode: 'ask' })}>Back to Ask</Button>}
    </section>
  )
}
