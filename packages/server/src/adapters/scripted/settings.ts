import type { AgentModel, Capabilities, SessionOptions, SessionSettings } from '@parley/protocol'

export function honouredOptions(can: Capabilities): (keyof SessionOptions)[] {
  return [
    ...(can.effort ? ['effort' as const] : []),
    ...(can.hostTools ? ['hostToolsOnly' as const] : []),
    ...(can.structuredOutput ? ['outputSchema' as const] : []),
  ]
}

/** The requested settings that take effect, and a message for each setting that does not. */
export function effectiveSettings(
  models: readonly AgentModel[],
  asked: SessionSettings,
  now: SessionSettings = {},
): { effective: SessionSettings; refused: string[] } {
  const refused: string[] = []
  const { mode = now.mode, options = now.options } = asked
  const known = models.find((model) => model.id === asked.model)
  const model = known ?? models.find(({ id }) => id === now.model) ?? models.find((usual) => usual.isDefault)
  if (asked.model !== undefined && !known) refused.push(`There is no model ${asked.model}.`)
  const { effort, ...others } = options ?? {}
  const canEffort = effort === undefined || model?.efforts?.includes(effort)
  if (!canEffort) refused.push(`The model ${model?.id} does not support the effort "${effort}".`)
  return {
    effective: {
      ...(model && { model: model.id }),
      ...(mode !== undefined && { mode }),
      ...(options && { options: canEffort ? options : others }),
    },
    refused,
  }
}
