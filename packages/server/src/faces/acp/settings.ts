import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk/unstable'
import {
  type AgentInfo,
  type AgentModel,
  ParleyError,
  PermissionMode,
  type SessionSettings,
  type SessionState,
} from '@parley/protocol'

/** The settings that the person chose last, overridden by the values that the agent has reported since. */
export type Chosen = Readonly<SessionSettings>

/**
 * The current value of a setting that the agent has not reported, because ACP requires a value. Choosing it changes
 * nothing.
 */
const agentsOwn = 'default'

const modeLabels: Record<PermissionMode, { name: string; description: string }> = {
  ask: { name: 'Ask', description: 'Asks before any change' },
  'accept-edits': { name: 'Accept edits', description: 'Edits files in the folder without asking' },
  'read-only': { name: 'Read-only', description: 'Denies everything that is not read-only' },
  plan: { name: 'Plan', description: 'Makes a plan first and asks before it begins' },
  bypass: { name: 'Bypass', description: 'Allows everything without asking' },
}

export type SettingsContext = { readonly agent: AgentInfo; readonly state: SessionState }

/** The current and the available modes, for editors that support modes only. */
export function modeState({ agent }: SettingsContext, { mode = 'ask' }: Chosen): SessionModeState {
  return {
    currentModeId: mode,
    availableModes: agent.modes.map((id) => ({ id, ...modeLabels[id] })),
  }
}

/** The choices of mode, model and effort that the agent offers. */
export function configOptions(context: SettingsContext, chosen: Chosen): SessionConfigOption[] {
  const { agent } = context
  const model = currentModel(context, chosen)
  return [
    {
      id: 'mode',
      name: 'Mode',
      category: 'mode',
      type: 'select',
      currentValue: chosen.mode ?? 'ask',
      options: agent.modes.map((value) => ({ value, ...modeLabels[value] })),
    },
    ...(agent.capabilities.models ? modelOption(context, model) : []),
    ...(agent.capabilities.effort ? effortOption(context, model, chosen.options?.effort) : []),
  ]
}

/** The settings for a choice made in the editor; undefined if it changes nothing. */
export function settingFrom(configId: string, value: unknown): SessionSettings | undefined {
  if (typeof value !== 'string')
    throw new ParleyError('validation_error', `The value of the option "${configId}" must be a string.`)
  switch (configId) {
    case 'mode':
      return { mode: modeFrom(value) }
    case 'model':
      return value === agentsOwn ? undefined : { model: value }
    case 'effort':
      return value === agentsOwn ? undefined : { options: { effort: value } }
    default:
      throw new ParleyError(
        'validation_error',
        `There is no option "${configId}". The options are mode, model and effort.`,
      )
  }
}

export function modeFrom(modeId: string): PermissionMode {
  const { data } = PermissionMode.safeParse(modeId)
  if (data) return data
  const known = PermissionMode.options.join(', ')
  throw new ParleyError('validation_error', `There is no mode "${modeId}". The modes are: ${known}.`)
}

/** Returns `chosen`, overridden by `next`. `options` are merged key by key. */
export function overlaid(chosen: Chosen, next: SessionSettings | undefined): Chosen {
  if (!next) return chosen
  const options = { ...chosen.options, ...next.options }
  return { ...chosen, ...next, ...(Object.keys(options).length > 0 && { options }) }
}

function modelsOf({ agent, state }: SettingsContext): readonly AgentModel[] {
  return state.connection?.models ?? agent.models ?? []
}

function currentModel(context: SettingsContext, { model }: Chosen): string | undefined {
  return model ?? context.state.connection?.model ?? modelsOf(context).find(({ isDefault }) => isDefault)?.id
}

function modelOption(context: SettingsContext, current: string | undefined): SessionConfigOption[] {
  const models = modelsOf(context)
  if (models.length === 0) return []
  const known = models.map(({ id, name, description }) => ({
    value: id,
    name,
    ...(description && { description }),
  }))
  return [select({ id: 'model', name: 'Model', category: 'model' }, current, known)]
}

function effortOption(
  context: SettingsContext,
  model: string | undefined,
  current: string | undefined,
): SessionConfigOption[] {
  const efforts = modelsOf(context).find(({ id }) => id === model)?.efforts ?? []
  if (efforts.length === 0) return []
  const known = efforts.map((value) => ({ value, name: value }))
  return [select({ id: 'effort', name: 'Effort', category: 'thought_level' }, current, known)]
}

type Choice = { value: string; name: string; description?: string }

/** A setting as a list of choices. The list always contains the current value. */
function select(
  about: { id: string; name: string; category: string },
  current: string | undefined,
  known: Choice[],
): SessionConfigOption {
  const options =
    current === undefined
      ? [{ value: agentsOwn, name: 'The default of the agent' }, ...known]
      : known.some(({ value }) => value === current)
        ? known
        : [{ value: current, name: current }, ...known]
  return { ...about, type: 'select', currentValue: current ?? agentsOwn, options }
}
