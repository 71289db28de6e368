import type { AgentAdapter } from '@parley/adapter-kit'
import type { Environment } from '@parley/adapter-kit/environment'
import { findProgram } from '@parley/adapter-kit/find-program'
import { ParleyError } from '@parley/protocol'

export type AgentSettings = {
  /** Variables added to the environment of the agent. */
  readonly env?: Readonly<Record<string, string>>
  /** Replaces the default program: an absolute path, or a name on the PATH. */
  readonly executable?: string
  readonly args?: readonly string[]
  readonly name?: string
  readonly disabled?: boolean
  /** If false, a session loads the person's own settings only if its options request them. Claude only. */
  readonly userSettings?: boolean
}

/** The settings for an adapter whose program must be given as a path and which accepts no extra arguments. */
export function pathSettings(
  agent: string,
  { env: add, executable, args }: AgentSettings = {},
  env: Environment,
): { add?: Readonly<Record<string, string>>; executable?: string } {
  if (args)
    throw refusal(`agents.${agent}.args is set, but ${agent} does not accept arguments. Remove the setting.`)
  return {
    ...(add && { add }),
    ...(executable !== undefined && { executable: findProgram({ name: executable, env }) ?? executable }),
  }
}

export function claudeSettings({ userSettings }: AgentSettings = {}): { userSettings?: boolean } {
  return userSettings === undefined ? {} : { userSettings }
}

/** The settings for an adapter that searches for its program itself. */
export function programSettings({ env: add, executable, args }: AgentSettings = {}) {
  return { ...(add && { add }), ...(executable !== undefined && { executable }), ...(args && { args }) }
}

/**
 * Leaves out disabled agents. Throws on settings for an unknown agent, since they would have no effect. `isElsewhere`
 * says which ids belong to agents that are not in the list.
 */
export function configured(
  adapters: readonly AgentAdapter[],
  settings: Readonly<Record<string, AgentSettings>>,
  isElsewhere: (id: string) => boolean = () => false,
): AgentAdapter[] {
  const known = adapters.map(({ id }) => id)
  const unknown = Object.entries(settings).find(
    ([id, { executable, disabled }]) =>
      !known.includes(id) && executable === undefined && !disabled && !isElsewhere(id),
  )
  if (unknown) {
    const [id] = unknown
    throw refusal(
      `agents.${id} is set, but there is no agent "${id}" and no command that starts one. Known: ${known.join(', ')}.`,
    )
  }
  const wrong = Object.entries(settings).find(
    ([id, one]) => id !== 'claude' && one.userSettings !== undefined && !isElsewhere(id),
  )
  if (wrong)
    throw refusal(`agents.${wrong[0]}.userSettings is set, but only claude supports it. Remove the setting.`)
  return adapters.filter(({ id }) => !settings[id]?.disabled)
}

function refusal(message: string): ParleyError {
  return new ParleyError('validation_error', message)
}
