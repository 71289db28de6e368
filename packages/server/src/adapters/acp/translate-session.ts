import type { AgentOutput } from '@parley/adapter-kit'
import { noOutput, notice } from '@parley/adapter-kit/translation'
import { type AgentModel, isRecord, type PlanEntry } from '@parley/protocol'
import type {
  NativeChoice,
  NativeConfig,
  NativeContent,
  NativeInitialized,
  NativeSession,
  NativeUpdate,
} from './native.ts'
import {
  type Config,
  ourMode,
  reportOnce,
  sequence,
  type TranslateState,
  type Translation,
} from './translate-state.ts'

export function takeIntroduction(state: TranslateState, result: NativeInitialized): Translation {
  return noOutput({ ...state, agentVersion: result.agentInfo?.version })
}

/** Called when a session was created or resumed: reports the connection and its settings. */
export function takeSession(state: TranslateState, result: NativeSession, params: unknown): Translation {
  const asked = isRecord(params) && typeof params.sessionId === 'string' ? params.sessionId : undefined
  const sessionId = result.sessionId ?? asked
  const config = configOf(result)
  const models = modelsOf(result)
  const connected: AgentOutput = {
    type: 'agent.connected',
    ...(sessionId !== undefined && { agentSessionId: sessionId }),
    ...(state.agentVersion !== undefined && { agentVersion: state.agentVersion }),
    ...(config.model !== undefined && { model: config.model }),
    ...(models.length > 0 && { models }),
  }
  return sequence(
    { ...state, sessionId, config },
    (now) => ({ state: now, outputs: [connected] }),
    reportConfig,
  )
}

/** Reports mode, model and effort if they have changed. */
export function reportConfig(state: TranslateState): Translation {
  const { mode: native, model } = state.config
  const mode = native === undefined ? undefined : ourMode(state, native)
  const effort = currentOf(state, 'thought_level')
  const effective = {
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
    ...(effort !== undefined && { options: { effort } }),
  }
  if (Object.keys(effective).length === 0) return noOutput(state)
  return reportOnce(state, 'config', effective, [{ type: 'session.configured', effective }])
}

/**
 * Called when the agent has changed its mode, on our request or by itself. An unknown mode gives a notice,
 * and the connection restores the requested mode.
 */
export function changeMode(state: TranslateState, native: string): Translation {
  const next = { ...state, config: { ...state.config, mode: native } }
  if (ourMode(state, native) !== undefined) return reportConfig(next)
  const text = `The agent changed its mode to ${native}, which is unknown to Parley.`
  return reportOnce(next, 'mode', native, [notice('warning', 'unknown-mode', text)])
}

export function changeModel(state: TranslateState, model: string): Translation {
  return reportConfig({ ...state, config: { ...state.config, model } })
}

export function changeConfig(
  state: TranslateState,
  options: readonly NativeConfig[] | undefined,
): Translation {
  if (!options) return noOutput(state)
  const next = { ...state, config: { ...state.config, options } }
  const model = currentOf(next, 'model')
  const mode = currentOf(next, 'mode')
  return sequence(
    model === undefined ? next : { ...next, config: { ...next.config, model } },
    (now) => (mode === undefined ? noOutput(now) : changeMode(now, mode)),
    reportConfig,
  )
}

export function takeCommands(
  state: TranslateState,
  { availableCommands }: NativeUpdate<'available_commands_update'>,
): Translation {
  const commands = availableCommands.map(({ name, description, input }) => ({
    name,
    ...(description && { description }),
    ...(input?.hint && { hint: input.hint }),
  }))
  return reportOnce(state, 'commands', commands, [{ type: 'agent.connected', commands }])
}

export function takeTitle(state: TranslateState, { title }: { title?: string | null }): Translation {
  if (!title || state.replaying) return noOutput(state)
  return reportOnce(state, 'title', title, [{ type: 'session.renamed', title, by: 'agent' }])
}

export function takePlan(state: TranslateState, update: NativeUpdate<'plan'>): Translation {
  if (state.replaying) return noOutput(state)
  const entries = update.entries.map(
    ({ content, status, priority }): PlanEntry => ({
      text: content,
      status: planStatus(status),
      ...((priority === 'high' || priority === 'medium' || priority === 'low') && { priority }),
    }),
  )
  return reportOnce(state, 'plan', entries, [{ type: 'plan.updated', entries }])
}

function planStatus(status: string | undefined): PlanEntry['status'] {
  if (status === 'in_progress') return 'in-progress'
  return status === 'completed' || status === 'cancelled' ? status : 'pending'
}

/**
 * Stores the size of the context and the cost, and reports the usage if the context has changed. A change of the cost
 * alone is reported at the end of the turn. Cost and totals count from the start of this connection: the agent does not
 * report earlier use.
 */
export function takeUsage(
  state: TranslateState,
  { used, size, cost }: NativeUpdate<'usage_update'>,
): Translation {
  const usage = {
    ...state.usage,
    context: used ?? state.usage.context,
    window: size || state.usage.window,
    costUsd: cost?.currency === 'USD' ? cost.amount : state.usage.costUsd,
  }
  const next = { ...state, usage }
  const isNews = usage.context !== state.usage.context || usage.window !== state.usage.window
  return isNews ? reportUsage(next) : noOutput(next)
}

export function reportUsage(state: TranslateState): Translation {
  const { total, context, window, costUsd } = state.usage
  if (context === undefined || context === 0) return noOutput(state)
  const usage = {
    context: { used: context, ...(window !== undefined && { window }) },
    total,
    ...(costUsd !== undefined && { costUsd }),
  }
  return reportOnce(state, 'usage', usage, [{ type: 'usage.measured', ...usage }])
}

export function takeNotice(
  state: TranslateState,
  { severity, title, description }: NativeUpdate<'notice'>,
): Translation {
  const level = severity === 'error' || severity === 'warning' ? severity : 'info'
  const text = [title, description].filter(Boolean).join(': ')
  return { state, outputs: [notice(level, 'notice', text)] }
}

/** Handles the agent's report of the account that it uses, or its report that nobody is signed in. */
export function takeAuthStatus(state: TranslateState, params: unknown): Translation {
  const { authStatus, accounts } = (params ?? {}) as {
    authStatus?: { kind?: string; label?: string }
    accounts?: readonly { label?: string; active?: boolean }[]
  }
  if (authStatus?.kind === 'none') {
    const signedOut = notice('warning', 'signed-out', 'The agent is no longer signed in.')
    return { state: { ...state, signedIn: false }, outputs: state.signedIn ? [signedOut] : [] }
  }
  const credential = authStatus?.label ?? (accounts?.find(({ active }) => active) ?? accounts?.[0])?.label
  if (!credential) return noOutput(state)
  const next = { ...state, signedIn: true }
  return reportOnce(next, 'credential', credential, [{ type: 'agent.connected', credential }])
}

export function takeCompaction(
  state: TranslateState,
  native: NativeUpdate<'compaction_update'>,
): Translation {
  if (state.replaying) return noOutput(state)
  const known = state.compactions.get(native.compactionId) ?? { summary: '', reported: false }
  const summary = native.summary ? native.summary.map(textOf).join('') : known.summary
  const over = native.status === 'completed' || native.status === 'failed' || native.status === 'cancelled'
  const next = {
    ...state,
    compactions: new Map(state.compactions).set(native.compactionId, {
      summary,
      reported: known.reported || over,
    }),
  }
  if (!over || known.reported) return noOutput(next)
  if (native.status !== 'completed') {
    const text = native.error ?? `The compaction of the context has ${native.status}.`
    return { state: next, outputs: [notice('warning', 'compaction', text)] }
  }
  const trigger = state.turn?.command === 'compact' ? 'manual' : 'auto'
  return { state: next, outputs: [{ type: 'context.compacted', trigger, ...(summary && { summary }) }] }
}

export function takeSummaryChunk(
  state: TranslateState,
  { compactionId, content }: { compactionId: string; content: NativeContent },
): Translation {
  const known = state.compactions.get(compactionId) ?? { summary: '', reported: false }
  const summary = known.summary + textOf(content)
  return noOutput({
    ...state,
    compactions: new Map(state.compactions).set(compactionId, { ...known, summary }),
  })
}

function textOf({ text }: { readonly type: string; readonly text?: string }): string {
  return text ?? ''
}

function configOf({ modes, models, configOptions }: NativeSession): Config {
  const options = configOptions ?? []
  const current = (category: string) => chosenIn(options.find((option) => option.category === category))
  return {
    options,
    hasModes: Boolean(modes),
    hasModels: Boolean(models),
    mode: modes?.currentModeId ?? current('mode'),
    model: current('model') ?? models?.currentModelId,
  }
}

export function optionOf({ config }: TranslateState, category: string): NativeConfig | undefined {
  return config.options.find((option) => option.category === category)
}

function currentOf(state: TranslateState, category: string): string | undefined {
  return chosenIn(optionOf(state, category))
}

function chosenIn(option: NativeConfig | undefined): string | undefined {
  return typeof option?.currentValue === 'string' ? option.currentValue : undefined
}

function modelsOf({ models, configOptions }: NativeSession): AgentModel[] {
  const legacy = models?.availableModels?.map(({ modelId, ...rest }) => ({ value: modelId, ...rest }))
  const option = (category: string) => configOptions?.find((one) => one.category === category)
  const current = chosenIn(option('model')) ?? models?.currentModelId
  const efforts = choicesOf(option('thought_level')).map(({ value }) => value)
  const offered = choicesOf(option('model'))
  return (offered.length > 0 ? offered : (legacy ?? [])).map(({ value, name, description }) => ({
    id: value,
    name,
    ...(description && { description }),
    ...(value === current && efforts.length > 0 && { efforts }),
  }))
}

function choicesOf(option: NativeConfig | undefined): NativeChoice[] {
  return (option?.options ?? []).flatMap((choice) => ('options' in choice ? choice.options : [choice]))
}
