import type { AgentAdapter } from '@parley/adapter-kit'
import {
  defined,
  type EnvironmentInfo,
  EnvironmentVariables,
  NewEnvironment,
  OldEnvironment,
  ParleyError,
  type SessionState,
} from '@parley/protocol'
import { checked } from './checked.ts'
import { type FolderAt, isWithin, listedPlace, placed } from './folder-trust.ts'
import type { SessionStore, StoredEnvironment } from './session-store.ts'
import type { SharedSettings } from './shared-settings.ts'
import { type SettingsCopy, StoredList } from './stored-list.ts'

/** Environment variables for agent processes. Names can be listed; values are passed only to the process. */
export type Environments = {
  environments(): Promise<EnvironmentInfo[]>
  /** Takes effect at the next start of an agent. An idle agent is closed, so that the next prompt starts it again. */
  setEnvironment(given: NewEnvironment): Promise<EnvironmentInfo>
  unsetEnvironment(given: OldEnvironment): Promise<void>
}

export type SessionEnvironments = {
  /**
   * The variables of a session's agent: those of the folders that contain the session's folder, then the session's
   * own. Inner folders override outer ones, and the session overrides all.
   */
  variablesFor(session: Pick<SessionState, 'id' | 'cwd'>): EnvironmentVariables | undefined
  /** Throws a ParleyError that names the first variable which may not be set. */
  expectFree(variables: EnvironmentVariables): void
  /** Stores the variables of a session that is about to be created, so that its agent never starts without them. */
  prepare(sessionId: string, variables: EnvironmentVariables): Promise<void>
  copy(from: string, to: string): Promise<void>
  /** Drops the variables of a session from memory. The store deletes them with the session. */
  forget(sessionId: string): void
}

type Target = Pick<StoredEnvironment, 'scope' | 'place' | 'at'>

/**
 * Variables that no session and no folder may set. The variables before `PATH` would make it possible to run calls
 * without a permission: they are Parley's own markers, or load code into the agent, into its shells or into the hooks
 * through which Parley refuses calls. `PATH` and the variables after it determine where programs and conversations are
 * found; Parley searches for them with its own values of these variables.
 */
const reservedEverywhere = [
  'PARLEY_*',
  'LD_*',
  'DYLD_*',
  'NODE_OPTIONS',
  'BUN_OPTIONS',
  'BASH_ENV',
  'ENV',
  'SHELL',
  'ZDOTDIR',
  'PATH',
  'HOME',
  'USERPROFILE',
  'XDG_*',
]

export type EnvironmentParts = {
  readonly store: SessionStore
  readonly adapters: () => Iterable<AgentAdapter>
  readonly checkFolder: (folder: string) => Promise<string>
  /** The place of this process. */
  readonly place: string | undefined
  /** Refuses an unknown session, or a session whose agent does not support variables. */
  readonly expectSession: (sessionId: string) => Promise<void>
  readonly changed: () => void
  readonly shared?: SharedSettings | undefined
}

export async function createEnvironments(
  parts: EnvironmentParts,
): Promise<SessionEnvironments & SettingsCopy & { methods: Environments }> {
  const { store, changed, shared } = parts
  const list = await StoredList.load(() => store.environments())
  const find = ({ scope, place, at }: Target) =>
    list.items.find((one) => one.scope === scope && one.place === place && one.at === at)
  const without = (where: Target) => {
    const old = find(where)
    return list.items.filter((one) => one !== old)
  }

  async function keep(where: Target, variables: EnvironmentVariables): Promise<void> {
    const kept = { ...where, variables: { ...variables } }
    await store.setEnvironment(kept)
    list.items = [...without(where), ...(Object.keys(variables).length > 0 ? [kept] : [])]
    changed()
  }

  async function targetOf({ sessionId, folder = '', place }: OldEnvironment): Promise<Target> {
    if (sessionId === undefined) return folderTarget(await placed(parts, folder, place))
    await parts.expectSession(sessionId)
    return { scope: 'session', place: sessionId }
  }

  /**
   * The target whose variables are removed. Works for a folder that no longer exists, and for a session whose
   * agent is no longer known.
   */
  async function oldTargetOf({ sessionId, folder = '', place }: OldEnvironment): Promise<Target> {
    if (sessionId !== undefined) return { scope: 'session', place: sessionId }
    const folders = list.items.filter(({ scope }) => scope === 'folder')
    return folderTarget(await listedPlace(parts, folders.map(folderOf), folder, place))
  }

  const methods: Environments = {
    async environments() {
      return list.items.map(infoOf)
    },
    async setEnvironment(given) {
      const { variables, ...rest } = checked(NewEnvironment, given, 'The environment')
      expectFree(variables, parts.adapters())
      const where = await targetOf(rest)
      const both = { ...find(where)?.variables, ...variables }
      checked(EnvironmentVariables, both, 'The environment')
      await keep(where, both)
      await shared?.changed()
      return infoOf({ ...where, variables: both })
    },
    async unsetEnvironment(given) {
      const { name, ...rest } = checked(OldEnvironment, given, 'The environment')
      const where = await oldTargetOf(rest)
      const { variables = {} } = find(where) ?? {}
      const names = Object.keys(variables)
      if (name === undefined ? names.length === 0 : !names.includes(name)) throw notSet(name, where)
      const { [name ?? '']: _, ...others } = variables
      await keep(where, name === undefined ? {} : others)
      await shared?.changed()
    },
  }
  return {
    methods,
    async prepare(sessionId, variables) {
      await keep({ scope: 'session', place: sessionId }, variables)
    },
    expectFree: (variables) => expectFree(variables, parts.adapters()),
    async copy(from, to) {
      const own = find({ scope: 'session', place: from })
      if (own) await keep({ scope: 'session', place: to }, own.variables)
    },
    forget(sessionId) {
      list.items = without({ scope: 'session', place: sessionId })
    },
    reload: () => list.reload(),
    variablesFor: (session) => merged(list.items, session, parts.place),
  }
}

/** The variables of the folders around a session, the outermost first, and those of the session itself. */
function merged(
  all: readonly StoredEnvironment[],
  session: Pick<SessionState, 'id' | 'cwd'>,
  here: string | undefined,
): EnvironmentVariables | undefined {
  if (all.length === 0) return undefined
  const around = all.filter(
    ({ scope, place, at }) => scope === 'folder' && at === here && isWithin(session.cwd, place),
  )
  const inwards = around.toSorted((a, b) => a.place.length - b.place.length)
  const own = all.filter(({ scope, place }) => scope === 'session' && place === session.id)
  const each = [...inwards, ...own].map(({ variables }) => variables)
  return each.length === 0 ? undefined : Object.assign({}, ...each)
}

function expectFree(variables: EnvironmentVariables, adapters: Iterable<AgentAdapter>): void {
  const lists = Array.from(adapters, ({ variables }) => variables)
  const reserved = lists.flatMap((list) => list?.reserved ?? [])
  const open = lists.flatMap((list) => list?.open ?? [])
  const taken = Object.keys(variables).find(
    (name) =>
      reservedEverywhere.some((pattern) => fits(name, pattern)) ||
      (!open.includes(name) && reserved.some((pattern) => fits(name, pattern))),
  )
  if (taken === undefined) return
  const message = `${taken} cannot be set for a session or a folder: Parley itself depends on it. To set it for every session of an agent, use agents.<id>.env in config.json.`
  throw new ParleyError('validation_error', message, { details: { variable: taken } })
}

/** A pattern is a name, or a prefix followed by `*`. On Windows, names are case-insensitive. */
function fits(name: string, pattern: string): boolean {
  const [given, wanted] = [name.toUpperCase(), pattern.toUpperCase()]
  return wanted.endsWith('*') ? given.startsWith(wanted.slice(0, -1)) : given === wanted
}

function folderTarget({ folder, place: at }: FolderAt): Target {
  return { scope: 'folder', place: folder, ...defined({ at }) }
}

function folderOf({ place: folder, at }: Target): FolderAt {
  return { folder, ...defined({ place: at }) }
}

function infoOf(environment: StoredEnvironment): EnvironmentInfo {
  const names = Object.keys(environment.variables).toSorted()
  if (environment.scope === 'session') return { sessionId: environment.place, names }
  return { ...folderOf(environment), names }
}

function notSet(name: string | undefined, { scope, place }: Target): ParleyError {
  const what = name === undefined ? 'No variable' : `The variable ${name}`
  const verb = name === undefined ? 'is' : 'is not'
  return new ParleyError('not_found', `${what} ${verb} set for the ${scope} ${place}.`)
}
