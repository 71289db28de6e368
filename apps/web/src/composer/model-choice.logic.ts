import type { AgentModel, SessionSettings } from '@parley/protocol'

type Session = {
  readonly requested: SessionSettings
  readonly effective: SessionSettings
  /** The model that the agent reports. */
  readonly running: string | undefined
}

/**
 * The model of a session, as an id of the list if possible. The chosen model comes first, then the running
 * model (by its id or by an alias for it), then the agent's default. A chosen alias is kept, whatever model
 * it resolves to.
 */
export function chosenModel(models: readonly AgentModel[], session: Session): string {
  const { requested, effective, running } = session
  const used = effective.model ?? running
  if (requested.model !== undefined) return requested.model
  const byDefault = models.find(({ isDefault }) => isDefault)
  if (used === undefined) return byDefault?.id ?? ''
  const own = models.find(({ id }) => id === used)
  if (own) return own.id
  const alias = [byDefault, ...models].find((one) => one?.resolvesTo === used)
  return alias?.id ?? byDefault?.id ?? used
}

/** The efforts of a model, found by its id or by the model it resolves to. */
export function effortsOf(models: readonly AgentModel[], model: string): readonly string[] {
  const found =
    models.find(({ id }) => id === model) ??
    models.find(({ resolvesTo }) => resolvesTo === model) ??
    (model === '' ? models.find(({ isDefault }) => isDefault) : undefined)
  return found?.efforts ?? []
}

export function effortName(effort: string): string {
  if (effort === 'xhigh') return 'Extra high'
  return `${effort.charAt(0).toUpperCase()}${effort.slice(1)}`
}
